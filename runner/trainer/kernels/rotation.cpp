#include "kernels/rotation.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "kernels/custom_function.h"
#include "kernels/kernel_choice.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rotation.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

// One head of one position: `half` pairs.
void rotate_halves(const float* x, const float* cosine, const float* sine, int64_t half,
                   float* out) {
  for_each_vector(half, [&](int64_t i, int64_t count) HWY_ATTR {
    const Floats a = load_some(x + i, count), b = load_some(x + half + i, count);
    const Floats c = load_some(cosine + i, count), s = load_some(sine + i, count);
    store_some(out + i, hn::MulAdd(a, c, hn::Mul(b, s)), count);
    store_some(out + half + i, hn::NegMulAdd(a, s, hn::Mul(b, c)), count);
  });
}

void rotate_neighbours(const float* x, const float* cosine, const float* sine, int64_t half,
                       float* out) {
  int64_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    Floats a, b;
    hn::LoadInterleaved2(kFloats, x + 2 * i, a, b);
    const Floats c = load(cosine + i), s = load(sine + i);
    hn::StoreInterleaved2(hn::NegMulAdd(b, s, hn::Mul(a, c)), hn::MulAdd(a, s, hn::Mul(b, c)),
                          kFloats, out + 2 * i);
  }
  for (; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    out[2 * i] = a * cosine[i] - b * sine[i];
    out[2 * i + 1] = b * cosine[i] + a * sine[i];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(rotate_halves);
HWY_EXPORT(rotate_neighbours);

at::Tensor rotated(const at::Tensor& input, const at::Tensor& cosine, const at::Tensor& sine,
                   ChannelPairs pairs) {
  const auto x = input.stride(3) == 1 ? input : input.contiguous();
  const int64_t length = x.size(1), heads = x.size(2), half = x.size(3) / 2;
  auto out = at::empty(x.sizes(), x.options());
  const auto* from = x.const_data_ptr<float>();
  const auto *cosines = cosine.const_data_ptr<float>(), *sines = sine.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, x.size(0) * length, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t t = i % length;
      for (int64_t head = 0; head < heads; ++head) {
        const auto* row = from + i / length * x.stride(0) + t * x.stride(1) + head * x.stride(2);
        auto* result = to + (i * heads + head) * 2 * half;
        const auto *c = cosines + t * half, *s = sines + t * half;
        if (pairs == ChannelPairs::halves)
          HWY_DYNAMIC_DISPATCH(rotate_halves)(row, c, s, half, result);
        else
          HWY_DYNAMIC_DISPATCH(rotate_neighbours)(row, c, s, half, result);
      }
    }
  });
  return out;
}

at::Tensor by_operators(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                        ChannelPairs pairs) {
  if (pairs == ChannelPairs::halves) {
    const auto halves = x.chunk(2, -1);
    return at::cat({halves[0].mul(cosine).add_(halves[1].mul(sine)),
                    halves[1].mul(cosine).sub_(halves[0].mul(sine))},
                   -1);
  }
  const auto both = x.unflatten(-1, {-1, 2});
  const auto a = both.select(-1, 0), b = both.select(-1, 1);
  return at::stack({a.mul(cosine).sub_(b.mul(sine)), b.mul(cosine).add_(a.mul(sine))}, -1)
      .flatten(-2);
}

using Rotate = at::Tensor(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                          ChannelPairs pairs);

// A turn by the opposite angle brings gradients back.
at::Tensor with_opposite(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                         ChannelPairs pairs, Rotate* turn) {
  return with_custom_gradient({x}, [&]() -> Differentiable {
    return {turn(x, cosine, sine, pairs).to(x.scalar_type()),
            {cosine, sine},
            [turn, pairs](const Backward& given) -> Tensors {
              const auto back = turn(given.gradient, given.kept[0], given.kept[1].neg(), pairs);
              return {back.to(given.gradient.scalar_type())};
            }};
  });
}

}  // namespace

at::Tensor rotate_aten(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                       ChannelPairs pairs) {
  return with_opposite(x, cosine, sine, pairs, by_operators);
}

at::Tensor rotate_ours(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                       ChannelPairs pairs) {
  return with_opposite(x, cosine.to(at::kFloat).contiguous(), sine.to(at::kFloat).contiguous(),
                       pairs, rotated);
}

at::Tensor rotate(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                  ChannelPairs pairs) {
  if (!x.is_cpu() || x.scalar_type() != at::kFloat) return rotate_aten(x, cosine, sine, pairs);
  return fastest(
      {pairs == ChannelPairs::halves ? "rotate_halves" : "rotate_neighbours",
       {autotune::Key::rounded(x.size(0) * x.size(1)), x.size(2), x.size(3)}},
      {x}, [&](const Tensors& in) { return rotate_ours(in[0], cosine, sine, pairs); },
      [&](const Tensors& in) { return rotate_aten(in[0], cosine, sine, pairs); });
}

}  // namespace exprun
#endif
