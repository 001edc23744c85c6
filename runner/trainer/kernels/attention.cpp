#include "kernels/attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>

#include "kernels/attention_head.h"
#include "kernels/hand_gradient.h"

namespace exprun {
namespace {

// Beyond this a head's scores leave the cache, and ATen's blocked kernel is as good.
constexpr int64_t kLongest = 512;

struct Shape {
  int64_t batch;
  int64_t num_heads;
  HeadShape head;
  int64_t width;  // C

  // `stride`: between positions of queries, keys and values.
  Shape(int64_t batch, int64_t length, int64_t width, int64_t heads, int64_t stride)
      : batch(batch),
        num_heads(heads),
        head{length, width / heads, stride, 1 / std::sqrt(static_cast<float>(width / heads))},
        width(width) {}

  static Shape joined(const at::Tensor& query_key_value, int64_t heads) {
    const int64_t width = query_key_value.size(2) / 3;
    return {query_key_value.size(0), query_key_value.size(1), width, heads, 3 * width};
  }

  static Shape separate(const at::Tensor& query) {
    const int64_t width = query.size(2) * query.size(3);
    return {query.size(0), query.size(1), width, query.size(2), width};
  }
};

// Calls work(offset of the head's queries, offset of its output, scratch) for every head.
template <class Work>
void for_each_head(const Shape& shape, const Work& work) {
  at::parallel_for(0, shape.batch * shape.num_heads, 1, [&](int64_t begin, int64_t end) {
    const auto scratch = at::empty({shape.head.scratch_size()}, at::kFloat);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / shape.num_heads * shape.head.length;
      const int64_t column = i % shape.num_heads * shape.head.width;
      work(row * shape.head.stride + column, row * shape.width + column,
           scratch.mutable_data_ptr<float>());
    }
  });
}

at::Tensor forward_heads(const Shape& shape, const HeadInputs& inputs, const at::Tensor& like) {
  auto out = at::empty({shape.batch, shape.head.length, shape.width}, like.options());
  auto* to = out.mutable_data_ptr<float>();
  for_each_head(shape, [&](int64_t in, int64_t at, float* scratch) {
    attention_head(shape.head, {inputs.query + in, inputs.key + in, inputs.value + in}, to + at,
                   shape.width, scratch);
  });
  return out;
}

void backward_heads(const Shape& shape, const HeadInputs& inputs, const at::Tensor& of_out,
                    const HeadGradients& gradients) {
  const auto* given = of_out.const_data_ptr<float>();
  for_each_head(shape, [&](int64_t in, int64_t at, float* scratch) {
    attention_head_gradient(
        shape.head, {inputs.query + in, inputs.key + in, inputs.value + in}, given + at,
        shape.width, {gradients.query + in, gradients.key + in, gradients.value + in}, scratch);
  });
}

HeadInputs joined_inputs(const Shape& shape, const at::Tensor& query_key_value) {
  const auto* from = query_key_value.const_data_ptr<float>();
  return {from, from + shape.width, from + 2 * shape.width};
}

Tensors joined_gradient(const Backward& given, int64_t num_heads) {
  const auto& query_key_value = given.kept[0];
  const auto shape = Shape::joined(query_key_value, num_heads);
  auto gradient = at::empty_like(query_key_value);
  auto* to = gradient.mutable_data_ptr<float>();
  backward_heads(shape, joined_inputs(shape, query_key_value), given.gradient.contiguous(),
                 {to, to + shape.width, to + 2 * shape.width});
  return {gradient};
}

Differentiable joined(const at::Tensor& input, int64_t num_heads) {
  const auto query_key_value = input.contiguous();
  const auto shape = Shape::joined(query_key_value, num_heads);
  return {forward_heads(shape, joined_inputs(shape, query_key_value), query_key_value),
          {query_key_value},
          [num_heads](const Backward& given) { return joined_gradient(given, num_heads); }};
}

HeadInputs separate_inputs(const Tensors& parts) {
  return {parts[0].const_data_ptr<float>(), parts[1].const_data_ptr<float>(),
          parts[2].const_data_ptr<float>()};
}

Tensors separate_gradients(const Backward& given) {
  const Tensors& parts = given.kept;
  Tensors result = {at::empty_like(parts[0]), at::empty_like(parts[1]), at::empty_like(parts[2])};
  backward_heads(Shape::separate(parts[0]), separate_inputs(parts), given.gradient.contiguous(),
                 {result[0].mutable_data_ptr<float>(), result[1].mutable_data_ptr<float>(),
                  result[2].mutable_data_ptr<float>()});
  return result;
}

Differentiable separate(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  const Tensors parts = {query.contiguous(), key.contiguous(), value.contiguous()};
  return {forward_heads(Shape::separate(query), separate_inputs(parts), query), parts,
          separate_gradients};
}

bool is_ours(const at::Tensor& tensor, double dropout) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && dropout == 0 &&
         tensor.size(1) <= kLongest;
}

}  // namespace

at::Tensor causal_attention_reference(const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, double dropout) {
  const bool shared = key.size(2) != query.size(2);
  const auto mixed = at::scaled_dot_product_attention(
      query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), {}, dropout,
      /*is_causal=*/true, /*scale=*/std::nullopt, /*enable_gqa=*/shared);
  return mixed.transpose(1, 2).flatten(2);
}

at::Tensor causal_attention_reference(const at::Tensor& query_key_value, int64_t num_heads,
                                      double dropout) {
  const auto parts = query_key_value.unflatten(2, {3, num_heads, -1}).unbind(2);
  return causal_attention_reference(parts[0], parts[1], parts[2], dropout);
}

at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            double dropout) {
  if (!is_ours(query, dropout) || key.size(2) != query.size(2))
    return causal_attention_reference(query, key, value, dropout);
  return with_gradient({query, key, value}, [&] { return separate(query, key, value); });
}

at::Tensor causal_attention(const at::Tensor& query_key_value, int64_t num_heads, double dropout) {
  if (!is_ours(query_key_value, dropout))
    return causal_attention_reference(query_key_value, num_heads, dropout);
  return with_gradient({query_key_value}, [&] { return joined(query_key_value, num_heads); });
}

}  // namespace exprun
