#include "kernels/attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "kernels/attention_head.h"

namespace exprun {
namespace {

// Beyond this a head's scores leave the cache, and ATen's blocked kernel is as good.
constexpr int64_t kLongest = 512;

struct Shape {
  int64_t batch;
  int64_t num_heads;
  HeadShape head;
  int64_t width;  // C

  Shape(const at::Tensor& query_key_value, int64_t heads) {
    batch = query_key_value.size(0);
    num_heads = heads;
    width = query_key_value.size(2) / 3;
    head = {query_key_value.size(1), width / heads, 3 * width,
            1 / std::sqrt(static_cast<float>(width / heads))};
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
      work(row * 3 * shape.width + column, row * shape.width + column,
           scratch.mutable_data_ptr<float>());
    }
  });
}

class CausalAttention : public torch::autograd::Function<CausalAttention> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context,
                            const at::Tensor& query_key_value, int64_t num_heads) {
    const auto joined = query_key_value.contiguous();
    context->save_for_backward({joined});
    context->saved_data["num_heads"] = num_heads;
    const Shape shape(joined, num_heads);
    auto out = at::empty({shape.batch, shape.head.length, shape.width}, joined.options());
    const auto* from = joined.const_data_ptr<float>();
    auto* to = out.mutable_data_ptr<float>();
    for_each_head(shape, [&](int64_t in, int64_t at, float* scratch) {
      const auto* query = from + in;
      attention_head(shape.head, {query, query + shape.width, query + 2 * shape.width}, to + at,
                     shape.width, scratch);
    });
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto joined = context->get_saved_variables()[0];
    const auto of_out = gradients[0].contiguous();
    auto gradient = at::empty_like(joined);
    const Shape shape(joined, context->saved_data["num_heads"].toInt());
    const auto* from = joined.const_data_ptr<float>();
    const auto* given = of_out.const_data_ptr<float>();
    auto* to = gradient.mutable_data_ptr<float>();
    for_each_head(shape, [&](int64_t in, int64_t at, float* scratch) {
      const int64_t width = shape.width;
      attention_head_gradient(shape.head, {from + in, from + in + width, from + in + 2 * width},
                              given + at, width, {to + in, to + in + width, to + in + 2 * width},
                              scratch);
    });
    return {gradient, at::Tensor()};
  }
};

}  // namespace

at::Tensor causal_attention_reference(const at::Tensor& query_key_value, int64_t num_heads,
                                      double dropout) {
  const int64_t batch = query_key_value.size(0), length = query_key_value.size(1),
                width = query_key_value.size(2) / 3;
  const auto parts = query_key_value.split(width, 2);
  const auto heads = [&](const at::Tensor& part) {  // (B, T, C) -> (B, H, T, D)
    return part.view({batch, length, num_heads, width / num_heads}).transpose(1, 2);
  };
  const auto mixed = at::scaled_dot_product_attention(
      heads(parts[0]), heads(parts[1]), heads(parts[2]), {}, dropout, /*is_causal=*/true);
  return mixed.transpose(1, 2).reshape({batch, length, width});
}

at::Tensor causal_attention(const at::Tensor& query_key_value, int64_t num_heads, double dropout) {
  const bool ours = query_key_value.is_cpu() && query_key_value.scalar_type() == at::kFloat &&
                    dropout == 0 && query_key_value.size(1) <= kLongest;
  if (!ours) return causal_attention_reference(query_key_value, num_heads, dropout);
  return CausalAttention::apply(query_key_value, num_heads);
}

}  // namespace exprun
