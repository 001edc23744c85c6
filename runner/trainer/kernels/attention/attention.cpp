#include "kernels/attention/attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>

#include "kernels/attention/attention_aten.h"
#include "kernels/attention/attention_head.h"
#include "kernels/custom_function.h"
#include "kernels/instruction_set.h"
#include "kernels/kernel_choice.h"

namespace exprun {
namespace {

// Queries (B, T, H, D), keys and values (B, T, H', D), or their gradients.
struct Heads {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;

  static Heads of_joined(const at::Tensor& query_key_value, HeadCounts counts) {
    const auto parts = query_key_value.unflatten(2, {counts.query + 2 * counts.key_value, -1})
                           .split_with_sizes({counts.query, counts.key_value, counts.key_value}, 2);
    return {parts[0], parts[1], parts[2]};
  }
};

// Positions that attend to one another: a row of the batch, or a document in its only row.
struct Sequence {
  int64_t batch;
  int64_t first;
  int64_t length;
};

std::vector<Sequence> rows_of_batch(const at::Tensor& query) {
  std::vector<Sequence> rows;
  for (int64_t batch = 0; batch < query.size(0); ++batch) rows.push_back({batch, 0, query.size(1)});
  return rows;
}

std::vector<Sequence> documents_of(const std::vector<int64_t>& lengths) {
  std::vector<Sequence> documents;
  int64_t first = 0;
  for (const int64_t length : lengths) {
    documents.push_back({0, first, length});
    first += length;
  }
  return documents;
}

// Where the rows of a head's matrix are.
struct Layout {
  float* data;
  int64_t batch_stride;
  int64_t stride;

  explicit Layout(const at::Tensor& heads)
      : data(heads.data_ptr<float>()), batch_stride(heads.stride(0)), stride(heads.stride(1)) {}

  WritableHeadRows at(const Sequence& sequence, int64_t head, int64_t width) const {
    return {data + sequence.batch * batch_stride + sequence.first * stride + head * width, stride};
  }
  HeadRows rows(const Sequence& sequence, int64_t head, int64_t width) const {
    const auto [begin, distance] = at(sequence, head, width);
    return {begin, distance};
  }
};

// As the kernel reads it: heads side by side.
at::Tensor side_by_side(const at::Tensor& heads) {
  return heads.stride(3) == 1 && heads.stride(2) == heads.size(3) ? heads : heads.contiguous();
}

HeadShape shape_of(const Heads& heads, int64_t length) {
  const int64_t width = heads.query.size(3);
  return {length, width, heads.query.size(2) / heads.key.size(2),
          1 / std::sqrt(static_cast<float>(width))};
}

// A key and a value with the query heads that share them, in one sequence.
struct KeyHead {
  HeadShape shape;
  Sequence sequence;
  int64_t head;   // of keys
  int64_t first;  // head of queries
  HeadInputs inputs;
};

// Calls work(KeyHead, scratch) for all of them. `scratch_of` says what a shape needs: a longer
// sequence may need less.
template <class Work>
void for_each_key_head(const Heads& heads, const std::vector<Sequence>& sequences,
                       int64_t (HeadShape::*scratch_of)() const, const Work& work) {
  int64_t scratch_size = 0;
  for (const Sequence& sequence : sequences)
    scratch_size = std::max(scratch_size, (shape_of(heads, sequence.length).*scratch_of)());
  const Layout query(heads.query), key(heads.key), value(heads.value);
  const int64_t num_heads = heads.key.size(2), width = heads.key.size(3);
  const auto count = static_cast<int64_t>(sequences.size());
  at::parallel_for(0, count * num_heads, 1, [&](int64_t begin, int64_t end) {
    const auto scratch = at::empty({scratch_size}, at::kFloat);
    for (int64_t i = begin; i < end; ++i) {
      const Sequence& sequence = sequences[static_cast<size_t>(i / num_heads)];
      const HeadShape shape = shape_of(heads, sequence.length);
      const int64_t head = i % num_heads, first = head * shape.num_queries;
      work(KeyHead{shape,
                   sequence,
                   head,
                   first,
                   {query.rows(sequence, first, width), key.rows(sequence, head, width),
                    value.rows(sequence, head, width)}},
           scratch.mutable_data_ptr<float>());
    }
  });
}

// Of a sequence's heads from `head` on: all heads of a sequence lie one after another.
RowSoftmax* rows_of(const at::Tensor& softmax, const Heads& heads, const Sequence& sequence,
                    int64_t head) {
  const int64_t before = sequence.batch * heads.query.size(1) + sequence.first;
  return reinterpret_cast<RowSoftmax*>(softmax.data_ptr<float>()) + before * heads.query.size(2) +
         head * sequence.length;
}

// `out` (B, T, H D), `softmax` (B T H, 2)
struct Attended {
  at::Tensor out;
  at::Tensor softmax;
};

Attended attend(const Heads& heads, const std::vector<Sequence>& sequences) {
  const int64_t batch_size = heads.query.size(0), length = heads.query.size(1);
  const int64_t num_heads = heads.query.size(2), width = heads.query.size(3);
  Attended result{at::empty({batch_size, length, num_heads * width}, at::kFloat),
                  at::empty({batch_size * length * num_heads, 2}, at::kFloat)};
  const Layout out(result.out);
  for_each_key_head(
      heads, sequences, &HeadShape::forward_scratch, [&](const KeyHead& of, float* scratch) {
        attention_heads(of.shape, of.inputs, out.at(of.sequence, of.first, width),
                        rows_of(result.softmax, heads, of.sequence, of.first), scratch);
      });
  return result;
}

void attend_backward(const Heads& heads, const std::vector<Sequence>& sequences,
                     const Attended& attended, const at::Tensor& of_out, const Heads& gradients) {
  const int64_t width = heads.query.size(3);
  const Layout out(attended.out), given(of_out), of_query(gradients.query), of_key(gradients.key),
      of_value(gradients.value);
  for_each_key_head(
      heads, sequences, &HeadShape::backward_scratch, [&](const KeyHead& of, float* scratch) {
        attention_heads_gradient(
            of.shape, of.inputs, out.rows(of.sequence, of.first, width),
            rows_of(attended.softmax, heads, of.sequence, of.first),
            given.rows(of.sequence, of.first, width),
            {of_query.at(of.sequence, of.first, width), of_key.at(of.sequence, of.head, width),
             of_value.at(of.sequence, of.head, width)},
            scratch);
      });
}

Differentiable joined(const at::Tensor& input, HeadCounts counts) {
  const auto query_key_value = input.contiguous();
  const auto heads = Heads::of_joined(query_key_value, counts);
  const auto [out, softmax] = attend(heads, rows_of_batch(heads.query));
  return {out, {query_key_value, out, softmax}, [counts](const Backward& given) -> Tensors {
            auto gradient = at::empty_like(given.kept[0]);
            const auto heads = Heads::of_joined(given.kept[0], counts);
            attend_backward(heads, rows_of_batch(heads.query), {given.kept[1], given.kept[2]},
                            given.gradient.contiguous(), Heads::of_joined(gradient, counts));
            return {gradient};
          }};
}

Tensors separate_gradients(const Backward& given, const std::vector<Sequence>& sequences) {
  const auto like = [](const at::Tensor& heads) { return at::empty(heads.sizes(), at::kFloat); };
  const Heads heads{given.kept[0], given.kept[1], given.kept[2]};
  const Heads gradients{like(heads.query), like(heads.key), like(heads.value)};
  attend_backward(heads, sequences, {given.kept[3], given.kept[4]}, given.gradient.contiguous(),
                  gradients);
  return {gradients.query, gradients.key, gradients.value};
}

Differentiable separate(const Tensors& inputs, const std::vector<Sequence>& sequences) {
  const Heads heads{side_by_side(inputs[0]), side_by_side(inputs[1]), side_by_side(inputs[2])};
  const auto [out, softmax] = attend(heads, sequences);
  return {out,
          {heads.query, heads.key, heads.value, out, softmax},
          [sequences](const Backward& given) { return separate_gradients(given, sequences); }};
}

at::Tensor separate_ours(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const std::vector<Sequence>& sequences) {
  const Tensors inputs = {query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat)};
  return with_custom_gradient(inputs, [&] { return separate(inputs, sequences); })
      .to(query.scalar_type());
}

bool may_be_ours(const at::Tensor& tensor, double dropout) {
  const auto format = tensor.scalar_type();
  return tensor.is_cpu() && (format == at::kFloat || format == at::kBFloat16) && dropout == 0;
}

at::Tensor causal_by_aten(const Heads& heads, double dropout, Shapes shapes) {
  return attention_aten(heads.query.transpose(1, 2), heads.key.transpose(1, 2),
                        heads.value.transpose(1, 2),
                        {.is_causal = true, .dropout = dropout, .shapes = shapes});
}

at::Tensor windowed_by_aten(const Heads& heads, int64_t window, double dropout, Shapes shapes) {
  const int64_t length = heads.query.size(1);
  const auto visible =
      at::ones({length, length}, heads.query.options().dtype(at::kBool)).tril().triu(1 - window);
  return attention_aten(heads.query.transpose(1, 2), heads.key.transpose(1, 2),
                        heads.value.transpose(1, 2),
                        {.visible = visible, .dropout = dropout, .shapes = shapes});
}

autotune::Key key_of(at::ScalarType format, int64_t batch, int64_t length, int64_t heads,
                     int64_t key_heads, int64_t width) {
  return {format == at::kFloat ? "attention" : "attention_bf16",
          {autotune::Key::rounded(batch), autotune::Key::rounded(length), heads, key_heads, width}};
}

}  // namespace

at::Tensor causal_attention_aten(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value, double dropout) {
  return causal_by_aten({query, key, value}, dropout, Shapes::repeat);
}

at::Tensor windowed_attention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value, int64_t window, double dropout) {
  return windowed_by_aten({query, key, value}, window, dropout, Shapes::repeat);
}

at::Tensor document_attention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value, const std::vector<int64_t>& lengths,
                              const at::Tensor& bounds, int64_t window, double dropout) {
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const bool windowed = window > 0 && window < longest;
  if (!windowed && may_be_ours(query, dropout) && has_our_kernels())
    return separate_ours(query, key, value, documents_of(lengths));
  if (const auto all = document_attention_flash(query, key, value, lengths, bounds,
                                                windowed ? window : 0, dropout))
    return *all;
  Tensors mixed;
  for (const auto& [batch, first, length] : documents_of(lengths)) {
    const auto part = [first = first, length = length](const at::Tensor& heads) {
      return heads.narrow(1, first, length);
    };
    const Heads document{part(query), part(key), part(value)};
    mixed.push_back(window > 0 && window < length
                        ? windowed_by_aten(document, window, dropout, Shapes::vary)
                        : causal_by_aten(document, dropout, Shapes::vary));
  }
  return at::cat(mixed, 1);
}

at::Tensor causal_attention_aten(const at::Tensor& query_key_value, HeadCounts heads,
                                 double dropout) {
  const auto [query, key, value] = Heads::of_joined(query_key_value, heads);
  return causal_attention_aten(query, key, value, dropout);
}

at::Tensor causal_attention_ours(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value) {
  return separate_ours(query, key, value, rows_of_batch(query));
}

at::Tensor causal_attention_ours(const at::Tensor& query_key_value, HeadCounts heads) {
  const auto wide = query_key_value.to(at::kFloat);
  return with_custom_gradient({wide}, [&] { return joined(wide, heads); })
      .to(query_key_value.scalar_type());
}

at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            double dropout) {
  if (!may_be_ours(query, dropout)) return causal_attention_aten(query, key, value, dropout);
  return fastest(
      key_of(query.scalar_type(), query.size(0), query.size(1), query.size(2), key.size(2),
             query.size(3)),
      {query, key, value},
      [](const Tensors& in) { return causal_attention_ours(in[0], in[1], in[2]); },
      [](const Tensors& in) { return causal_attention_aten(in[0], in[1], in[2], 0); });
}

at::Tensor causal_attention(const at::Tensor& query_key_value, HeadCounts heads, double dropout) {
  if (!may_be_ours(query_key_value, dropout))
    return causal_attention_aten(query_key_value, heads, dropout);
  const int64_t width = query_key_value.size(2) / (heads.query + 2 * heads.key_value);
  return fastest(
      key_of(query_key_value.scalar_type(), query_key_value.size(0), query_key_value.size(1),
             heads.query, heads.key_value, width),
      {query_key_value}, [&](const Tensors& in) { return causal_attention_ours(in[0], heads); },
      [&](const Tensors& in) { return causal_attention_aten(in[0], heads, 0); });
}

}  // namespace exprun
