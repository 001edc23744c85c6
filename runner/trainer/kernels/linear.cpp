#include "kernels/linear.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "engine/autotune/autotune.h"
#include "engine/precision/precision.h"
#include "kernels/custom_function.h"
#include "kernels/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/matrix-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

void dot_products_fp32(const float* x, const void* weight, int64_t in, int64_t rows, float* out) {
  dot_products(x, static_cast<const float*>(weight), in, rows, out);
}

void dot_products_bf16(const float* x, const void* weight, int64_t in, int64_t rows, float* out) {
  dot_products(x, static_cast<const hwy::bfloat16_t*>(weight), in, rows, out);
}

void add_bf16(const void* more, int64_t count, float* sum) {
  const auto* const from = static_cast<const hwy::bfloat16_t*>(more);
  for_each_vector(count, [&](int64_t i, int64_t some) HWY_ATTR {
    store_some(sum + i, hn::Add(load_some(sum + i, some), load_some(from + i, some)), some);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(dot_products_fp32);
HWY_EXPORT(dot_products_bf16);
HWY_EXPORT(add_bf16);

constexpr int64_t kGrain = 32768;  // weights that a thread takes at a time

using Attributes = c10::List<std::optional<at::Scalar>>;
using OneDnnLinear = at::Tensor(const at::Tensor&, const at::Tensor&,
                                const std::optional<at::Tensor>&, std::string_view, Attributes,
                                std::optional<std::string_view>);

// oneDNN's product of plain dense fp32 matrices. It is reachable as an operator only, which other
// builds of LibTorch may lack.
const auto& onednn_operator() {
  static const auto found = []() -> std::optional<c10::TypedOperatorHandle<OneDnnLinear>> {
    const auto schema = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (!schema) return std::nullopt;
    return schema->typed<OneDnnLinear>();
  }();
  return found;
}

std::optional<at::Tensor> present(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

at::Tensor onednn(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  static const Attributes none;
  return onednn_operator()->call(x, weight, present(bias), "none", none, "");
}

// The ways to compute a product. In bf16 ATen takes a hundred times as long as in fp32 on
// processors without such a product, and twice as long on some that have one: there the factors,
// widened, are multiplied in fp32, and the result is rounded once. That is never the slower by
// much, so it comes first: it is taken where nothing may be measured.
enum class Way { aten, onednn, fp32 };

using Compute = std::function<at::Tensor(Way)>;

at::Tensor fastest_of(const autotune::Key& key, autotune::Names names,
                      std::initializer_list<Way> ways, const Compute& compute) {
  const Way* const all = ways.begin();
  return compute(all[autotune::choose(key, names, [&](size_t index) { compute(all[index]); })]);
}

at::Tensor fastest_product(const autotune::Key& key, const at::Tensor& operand,
                           const Compute& compute) {
  const auto format = operand.scalar_type();
  if (operand.is_cpu() && format == at::kFloat && onednn_operator())
    return fastest_of(key, {"aten", "onednn"}, {Way::aten, Way::onednn}, compute);
  if (operand.is_cpu() && format == at::kBFloat16)
    return fastest_of(key, {"fp32", "aten"}, {Way::fp32, Way::aten}, compute);
  return compute(Way::aten);
}

autotune::Key key_of(const at::Tensor& operand, const char* in_fp32, const char* in_bf16,
                     int64_t rows, int64_t in, int64_t out) {
  return {operand.scalar_type() == at::kBFloat16 ? in_bf16 : in_fp32,
          {autotune::Key::rounded(rows), in, out}};
}

at::Tensor wide(const at::Tensor& tensor) {
  return tensor.to(at::kFloat);
}

// (..., in) as a matrix.
at::Tensor flat(const at::Tensor& x) {
  return x.dim() == 2 ? x : x.reshape({-1, x.size(-1)});
}

Differentiable product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto matrix = flat(x);
  auto shape = x.sizes().vec();
  shape.back() = weight.size(0);
  const auto factor = cast_weight(weight, x.scalar_type());
  // A frozen weight has no gradient, for which alone x is kept.
  return {linear_forward(matrix, factor, bias).view(shape),
          {weight.requires_grad() ? matrix : at::Tensor(), factor, weight},
          linear_gradients};
}

// What row_product takes.
bool is_single_row(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const bool is_plain =
      x.is_contiguous() && weight.is_contiguous() && (!bias.defined() || bias.is_contiguous());
  const auto format = x.scalar_type();
  const bool has_format =
      (format == at::kFloat || format == at::kBFloat16) && weight.scalar_type() == format;
  return has_our_kernels() && x.is_cpu() && has_format && x.size(0) == 1 && is_plain;
}

// Adds to the gradient that a weight has, as backward would, but without widening `more` first;
// whether it has one.
bool add_where_it_lies(const at::Tensor& weight, const at::Tensor& more) {
  const at::Tensor& sum = weight.is_leaf() ? weight.grad() : at::Tensor();
  if (!sum.defined() || !sum.is_cpu() || !has_our_kernels()) return false;
  if (sum.scalar_type() != at::kFloat || more.scalar_type() != at::kBFloat16) return false;
  if (!sum.is_contiguous() || !more.is_contiguous()) return false;
  auto* const to = sum.mutable_data_ptr<float>();
  const auto* const from = more.const_data_ptr<at::BFloat16>();
  at::parallel_for(0, sum.numel(), kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_bf16)(from + begin, end - begin, to + begin);
  });
  return true;
}

}  // namespace

Tensors linear_gradients(const Backward& given) {
  const auto &x = given.kept[0], &factor = given.kept[1], &weight = given.kept[2];
  const auto gradient = flat(given.gradient).contiguous();
  Tensors result(3);
  if (given.needed[0]) {
    auto shape = given.gradient.sizes().vec();
    shape.back() = factor.size(1);
    result[0] = linear_input_gradient(gradient, factor).view(shape);
  }
  if (given.needed[1]) {
    const auto of_weight = linear_weight_gradient(gradient, x);
    if (!add_where_it_lies(weight, of_weight)) result[1] = of_weight.to(weight.scalar_type());
  }
  if (given.needed.size() == 3 && given.needed[2]) result[2] = gradient.sum(0);
  return result;
}

at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const int64_t out = weight.size(0), in = weight.size(1);
  const auto input = wide(x);
  auto result = at::empty({1, out}, input.options());
  const auto* row = input.const_data_ptr<float>();
  const auto* weights = static_cast<const std::byte*>(weight.const_data_ptr());
  const auto row_bytes = in * static_cast<int64_t>(weight.element_size());
  const bool is_bf16 = weight.scalar_type() == at::kBFloat16;
  auto* to = result.mutable_data_ptr<float>();
  const auto compute = [&](int64_t begin, int64_t end) {
    const auto* first = weights + begin * row_bytes;
    if (is_bf16)
      HWY_DYNAMIC_DISPATCH(dot_products_bf16)(row, first, in, end - begin, to + begin);
    else
      HWY_DYNAMIC_DISPATCH(dot_products_fp32)(row, first, in, end - begin, to + begin);
  };
  // A thread takes the next rows when it is done with its last: equal shares would wait for the
  // one whose core or memory is slower at the moment.
  const int64_t rows = (std::max<int64_t>(kGrain / in, 1) + 3) / 4 * 4;
  std::atomic<int64_t> next{0};
  at::parallel_for(0, (out + rows - 1) / rows, 1, [&](int64_t, int64_t) {
    for (int64_t begin; (begin = next.fetch_add(rows, std::memory_order_relaxed)) < out;)
      compute(begin, std::min(begin + rows, out));
  });
  if (bias.defined()) result.add_(bias);
  return result.to(x.scalar_type());
}

at::Tensor linear_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto by_aten = [](const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
    return c.defined() ? at::addmm(c, a, b.t()) : at::mm(a, b.t());
  };
  // Not measured: alone and repeated, ATen's product finds its weights in a cache, and looks faster
  // than it is where each token reads all weights once. In a model it took up to twice as long.
  if (is_single_row(x, weight, bias)) return row_product(x, weight, bias);
  const auto key = key_of(x, "forward", "forward_bf16", x.size(0), weight.size(1), weight.size(0));
  const auto compute = [&](Way way) {
    if (way == Way::onednn) return onednn(x, weight, bias);
    if (way == Way::aten) return by_aten(x, weight, bias);
    return by_aten(wide(x), wide(weight), bias.defined() ? wide(bias) : bias).to(x.scalar_type());
  };
  return fastest_product(key, x, compute);
}

at::Tensor linear_input_gradient(const at::Tensor& gradient, const at::Tensor& weight) {
  const auto key = key_of(gradient, "input_gradient", "input_gradient_bf16", gradient.size(0),
                          weight.size(1), weight.size(0));
  return fastest_product(key, gradient, [&](Way way) {
    if (way == Way::onednn) return onednn(gradient, weight.t(), {});
    if (way == Way::aten) return at::mm(gradient, weight);
    return at::mm(wide(gradient), wide(weight)).to(gradient.scalar_type());
  });
}

at::Tensor linear_weight_gradient(const at::Tensor& gradient, const at::Tensor& x) {
  const auto key = key_of(gradient, "weight_gradient", "weight_gradient_bf16", x.size(0), x.size(1),
                          gradient.size(1));
  return fastest_product(key, gradient, [&](Way way) {
    if (way == Way::onednn) return onednn(gradient.t(), x.t(), {});
    if (way == Way::aten) return at::mm(gradient.t(), x);
    return at::mm(wide(gradient).t(), wide(x)).to(gradient.scalar_type());
  });
}

at::Tensor batched_product(const at::Tensor& x, const at::Tensor& y) {
  if (!x.is_cpu() || x.scalar_type() != at::kBFloat16) return at::bmm(x, y);
  const autotune::Key key{"batched_product_bf16", {x.size(0), x.size(1), x.size(2), y.size(2)}};
  return fastest_product(key, x, [&](Way way) {
    return way == Way::aten ? at::bmm(x, y) : at::bmm(wide(x), wide(y)).to(x.scalar_type());
  });
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return with_custom_gradient({x, weight, bias}, [&] { return product(x, weight, bias); });
}

at::Tensor linear_aten(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, present(bias));
}

}  // namespace exprun
#endif
