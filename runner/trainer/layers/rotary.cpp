#include "layers/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>

#include "kernels/hand_gradient.h"

namespace exprun {
namespace {

// Each pair (a, b) becomes (a cos + b sin, b cos - a sin).
at::Tensor turned_halves(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine) {
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0].mul(cosine).add_(halves[1].mul(sine)),
                  halves[1].mul(cosine).sub_(halves[0].mul(sine))},
                 -1);
}

// Each pair (a, b) becomes (a cos - b sin, b cos + a sin).
at::Tensor turned_neighbours(const at::Tensor& x, const at::Tensor& cosine,
                             const at::Tensor& sine) {
  const auto pairs = x.unflatten(-1, {-1, 2});
  const auto a = pairs.select(-1, 0), b = pairs.select(-1, 1);
  return at::stack({a.mul(cosine).sub_(b.mul(sine)), b.mul(cosine).add_(a.mul(sine))}, -1)
      .flatten(-2);
}

using Turn = at::Tensor(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine);

// A turn by the opposite angle brings gradients back.
Differentiable turned(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                      Turn* turn) {
  return {turn(x, cosine, sine).to(x.scalar_type()),
          {cosine, sine},
          [turn](const Backward& given) -> Tensors {
            const auto back = turn(given.gradient, given.kept[0], given.kept[1].neg());
            return {back.to(given.gradient.scalar_type())};
          }};
}

}  // namespace

const Rotary::Table& Rotary::table(int64_t length, at::Device device) const {
  if (table_.cosine.defined() && table_.cosine.size(1) >= length) return table_;
  const auto options = at::TensorOptions(device).dtype(at::kFloat);
  const auto channels = at::arange(0, width_, 2, options).div(static_cast<double>(width_));
  const auto frequencies = at::pow(settings_.base, channels).reciprocal();
  const auto angles = at::outer(at::arange(length, options), frequencies).unsqueeze(0).unsqueeze(2);
  table_ = {angles.cos().to(settings_.table), angles.sin().to(settings_.table)};
  return table_;
}

at::Tensor Rotary::operator()(const at::Tensor& x) const {
  const int64_t length = x.size(1);
  const auto& [cosine, sine] = table(length, x.device());
  const auto turn =
      settings_.layout == RotarySettings::Layout::half_split ? turned_halves : turned_neighbours;
  return with_gradient(
      {x}, [&] { return turned(x, cosine.narrow(1, 0, length), sine.narrow(1, 0, length), turn); });
}

}  // namespace exprun
