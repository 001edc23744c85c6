#include "kernels/activation.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>

#include <stdexcept>

#include "kernels/custom_function.h"
#include "kernels/kernel_choice.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

struct ValueAndSlope {
  Floats value;
  Floats slope;
};

HWY_INLINE Floats constant(float value) {
  return hn::Set(kFloats, value);
}

// Phi(-a) = exp(-a^2/2) R(a). With t = 1/(1 + 0.3 a), R = t P(t) is a minimax fit over [0, 14] of
// relative error 4e-9; single precision leaves 2e-7 of Phi.
HWY_INLINE ValueAndSlope gelu_erf(Floats x) {
  const Floats one = constant(1.0f);
  const Floats bell = exp(hn::Mul(hn::Mul(x, x), constant(-0.5f)));
  const Floats t = hn::Div(one, hn::MulAdd(hn::Abs(x), constant(0.3f), one));
  Floats p = hn::MulAdd(t, constant(-0.020612829f), constant(0.11237577f));
  p = hn::MulAdd(p, t, constant(-0.22806750f));
  p = hn::MulAdd(p, t, constant(0.19158167f));
  p = hn::MulAdd(p, t, constant(-0.079247310f));
  p = hn::MulAdd(p, t, constant(0.096057810f));
  p = hn::MulAdd(p, t, constant(0.078425588f));
  p = hn::MulAdd(p, t, constant(0.11022732f));
  p = hn::MulAdd(p, t, constant(0.11957284f));
  p = hn::MulAdd(p, t, constant(0.11968663f));
  const Floats tail = hn::Mul(hn::Mul(p, t), bell);
  const Floats phi = hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), tail, hn::Sub(one, tail));
  return {hn::Mul(x, phi), hn::MulAdd(hn::Mul(x, bell), constant(0.39894228f), phi)};
}

// x s(2u) with the logistic s and u = sqrt(2/pi) (x + 0.044715 x^3), which is 0.5 x (1 + tanh u).
HWY_INLINE ValueAndSlope gelu_tanh(Floats x) {
  const Floats one = constant(1.0f), square = hn::Mul(x, x);
  const Floats twice = hn::Mul(x, hn::MulAdd(square, constant(0.071354816f), constant(1.5957691f)));
  const Floats s = hn::Div(one, hn::Add(one, exp(hn::Neg(twice))));
  const Floats slope_of_twice = hn::MulAdd(square, constant(0.21406445f), constant(1.5957691f));
  const Floats value = hn::Mul(x, s);
  return {value, hn::MulAdd(hn::Mul(value, hn::Sub(one, s)), slope_of_twice, s)};
}

HWY_INLINE ValueAndSlope relu_squared(Floats x) {
  const Floats positive = hn::Max(hn::Zero(kFloats), x);  // a NaN stays one
  return {hn::Mul(positive, positive), hn::Add(positive, positive)};
}

template <class Function>
HWY_INLINE void for_all(const float* x, float* value, float* slope, int64_t size,
                        const Function& function) {
  for_each_vector(size, [&](int64_t i, int64_t count) HWY_ATTR {
    const auto result = function(load_some(x + i, count));
    store_some(value + i, result.value, count);
    store_some(slope + i, result.slope, count);
  });
}

void values_and_slopes(ActivationForm form, const float* x, float* value, float* slope,
                       int64_t size) {
  switch (form) {
    case ActivationForm::gelu:
      return for_all(x, value, slope, size, [](Floats at) HWY_ATTR { return gelu_erf(at); });
    case ActivationForm::gelu_tanh:
      return for_all(x, value, slope, size, [](Floats at) HWY_ATTR { return gelu_tanh(at); });
    case ActivationForm::relu_squared:
      return for_all(x, value, slope, size, [](Floats at) HWY_ATTR { return relu_squared(at); });
  }
}

HWY_INLINE Floats logistic(Floats x) {
  return hn::Div(constant(1.0f), hn::Add(constant(1.0f), exp(hn::Neg(x))));
}

void swiglu_values(const float* gate, const float* up, float* value, int64_t size) {
  for_each_vector(size, [&](int64_t i, int64_t count) HWY_ATTR {
    const Floats x = load_some(gate + i, count);
    const Floats silu = hn::Mul(x, logistic(x));
    store_some(value + i, hn::Mul(silu, load_some(up + i, count)), count);
  });
}

// silu'(x) = s + x s (1 - s)
void swiglu_gradients(const float* gate, const float* up, const float* given, float* of_gate,
                      float* of_up, int64_t size) {
  for_each_vector(size, [&](int64_t i, int64_t count) HWY_ATTR {
    const Floats x = load_some(gate + i, count), of_value = load_some(given + i, count);
    const Floats s = logistic(x), silu = hn::Mul(x, s);
    const Floats slope = hn::MulAdd(silu, hn::Sub(constant(1.0f), s), s);
    store_some(of_up + i, hn::Mul(of_value, silu), count);
    store_some(of_gate + i, hn::Mul(hn::Mul(of_value, load_some(up + i, count)), slope), count);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(values_and_slopes);
HWY_EXPORT(swiglu_values);
HWY_EXPORT(swiglu_gradients);

constexpr int64_t kGrain = 4096;

// The slope costs almost nothing beside the value, and replaces the input in what is kept; backward
// turns it into the gradient where it lies (a second backward is told so by its version).
Differentiable with_slope(const at::Tensor& input, ActivationForm form) {
  const auto x = input.contiguous();
  auto value = at::empty_like(x), slope = at::empty_like(x);
  const auto* from = x.const_data_ptr<float>();
  auto* values = value.mutable_data_ptr<float>();
  auto* slopes = slope.mutable_data_ptr<float>();
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(values_and_slopes)
    (form, from + begin, values + begin, slopes + begin, end - begin);
  });
  return {value, {slope}, [](const Backward& given) -> Tensors {
            return {given.kept[0].mul_(given.gradient)};
          }};
}

Tensors gated_gradients(const Backward& backward) {
  const auto &gate = backward.kept[0], &up = backward.kept[1];
  const auto gradient = backward.gradient.contiguous();
  auto of_gate = at::empty_like(gate), of_up = at::empty_like(up);
  const auto *gates = gate.const_data_ptr<float>(), *ups = up.const_data_ptr<float>();
  const auto* given = gradient.const_data_ptr<float>();
  auto *to_gate = of_gate.mutable_data_ptr<float>(), *to_up = of_up.mutable_data_ptr<float>();
  at::parallel_for(0, gate.numel(), kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(swiglu_gradients)
    (gates + begin, ups + begin, given + begin, to_gate + begin, to_up + begin, end - begin);
  });
  return {of_gate, of_up};
}

// Neither the logistic function nor silu is kept: backward computes them again.
Differentiable gated(const at::Tensor& gate_input, const at::Tensor& up_input) {
  const auto gate = gate_input.contiguous(), up = up_input.contiguous();
  auto value = at::empty_like(up);
  const auto *gates = gate.const_data_ptr<float>(), *ups = up.const_data_ptr<float>();
  auto* values = value.mutable_data_ptr<float>();
  at::parallel_for(0, up.numel(), kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(swiglu_values)
    (gates + begin, ups + begin, values + begin, end - begin);
  });
  return {value, {gate, up}, gated_gradients};
}

autotune::Key key_of(const at::Tensor& x, const char* in_fp32, const char* in_bf16) {
  return {x.scalar_type() == at::kFloat ? in_fp32 : in_bf16, {autotune::Key::rounded(x.numel())}};
}

autotune::Key key_of(const at::Tensor& x, ActivationForm form) {
  switch (form) {
    case ActivationForm::gelu:
      return key_of(x, "gelu", "gelu_bf16");
    case ActivationForm::gelu_tanh:
      return key_of(x, "gelu_tanh", "gelu_tanh_bf16");
    case ActivationForm::relu_squared:
      return key_of(x, "relu_squared", "relu_squared_bf16");
  }
  throw std::logic_error("activation: no such form");
}

bool may_be_ours(const at::Tensor& x) {
  return x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

}  // namespace

at::Tensor activation_aten(const at::Tensor& x, ActivationForm form) {
  if (form == ActivationForm::relu_squared) return at::relu(x).square();
  return at::gelu(x, form == ActivationForm::gelu ? "none" : "tanh");
}

at::Tensor activation_ours(const at::Tensor& x, ActivationForm form) {
  const auto wide = x.to(at::kFloat);
  return with_custom_gradient({wide}, [&] { return with_slope(wide, form); }).to(x.scalar_type());
}

at::Tensor activation(const at::Tensor& x, ActivationForm form) {
  if (!may_be_ours(x)) return activation_aten(x, form);
  return fastest(
      key_of(x, form), {x}, [&](const Tensors& in) { return activation_ours(in[0], form); },
      [&](const Tensors& in) { return activation_aten(in[0], form); });
}

at::Tensor swiglu_aten(const at::Tensor& gate, const at::Tensor& up) {
  return at::silu(gate).mul(up);
}

at::Tensor swiglu_ours(const at::Tensor& gate, const at::Tensor& up) {
  const auto wide = gate.to(at::kFloat), wide_up = up.to(at::kFloat);
  return with_custom_gradient({wide, wide_up}, [&] { return gated(wide, wide_up); })
      .to(up.scalar_type());
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (!may_be_ours(gate)) return swiglu_aten(gate, up);
  return fastest(
      key_of(up, "swiglu", "swiglu_bf16"), {gate, up},
      [](const Tensors& in) { return swiglu_ours(in[0], in[1]); },
      [](const Tensors& in) { return swiglu_aten(in[0], in[1]); });
}

}  // namespace exprun
#endif
