#include "kernels/gelu.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>

#include "kernels/fastest.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gelu.cpp"
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

void gelu_values(GeluForm form, const float* x, float* value, float* slope, int64_t size) {
  const auto apply = [&](const auto& function) HWY_ATTR {
    for_each_vector(size, [&](int64_t i, int64_t count) HWY_ATTR {
      const auto result = function(load_some(x + i, count));
      store_some(value + i, result.value, count);
      store_some(slope + i, result.slope, count);
    });
  };
  if (form == GeluForm::erf)
    apply([](Floats at) HWY_ATTR { return gelu_erf(at); });
  else
    apply([](Floats at) HWY_ATTR { return gelu_tanh(at); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(gelu_values);

constexpr int64_t kGrain = 4096;

// The slope costs almost nothing beside the value, and replaces the input in what is kept; backward
// turns it into the gradient where it lies (a second backward is told so by its version).
Differentiable with_slope(const at::Tensor& input, GeluForm form) {
  const auto x = input.contiguous();
  auto value = at::empty_like(x), slope = at::empty_like(x);
  const auto* from = x.const_data_ptr<float>();
  auto* values = value.mutable_data_ptr<float>();
  auto* slopes = slope.mutable_data_ptr<float>();
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_values)
    (form, from + begin, values + begin, slopes + begin, end - begin);
  });
  return {value, {slope}, [](const Backward& given) -> Tensors {
            return {given.kept[0].mul_(given.gradient)};
          }};
}

}  // namespace

at::Tensor gelu_reference(const at::Tensor& x, GeluForm form) {
  return at::gelu(x, form == GeluForm::erf ? "none" : "tanh");
}

at::Tensor gelu_ours(const at::Tensor& x, GeluForm form) {
  return with_gradient({x}, [&] { return with_slope(x, form); });
}

at::Tensor gelu(const at::Tensor& x, GeluForm form) {
  if (!x.is_cpu() || x.scalar_type() != at::kFloat) return gelu_reference(x, form);
  return fastest(
      {form == GeluForm::erf ? "gelu_erf" : "gelu_tanh", {autotune::Key::rounded(x.numel())}}, {x},
      [&](const Tensors& in) { return gelu_ours(in[0], form); },
      [&](const Tensors& in) { return gelu_reference(in[0], form); });
}

}  // namespace exprun
#endif
