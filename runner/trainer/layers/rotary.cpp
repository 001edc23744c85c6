#include "layers/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/custom_function.h>

namespace exprun {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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

// A turn by the opposite angle brings gradients back.
class Turn : public torch::autograd::Function<Turn> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& cosine,
                            const at::Tensor& sine, bool halves) {
    context->save_for_backward({cosine, sine});
    context->saved_data["halves"] = halves;
    const auto turn = halves ? turned_halves : turned_neighbours;
    return turn(x, cosine, sine).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto turn = context->saved_data["halves"].toBool() ? turned_halves : turned_neighbours;
    const auto& given = gradients[0];
    return {turn(given, saved[0], saved[1].neg()).to(given.scalar_type()), at::Tensor(),
            at::Tensor(), at::Tensor()};
  }
};

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
  return Turn::apply(x, cosine.narrow(1, 0, length), sine.narrow(1, 0, length),
                     settings_.layout == RotarySettings::Layout::half_split);
}

}  // namespace exprun
