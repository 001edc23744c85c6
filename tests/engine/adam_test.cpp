#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <doctest/doctest.h>

#include "engine/optimizer.h"
#include "support/sections.h"

using namespace exprun;

namespace {

// Five steps down the sum of w^3 from linspace(-1, 1, 5), as torch.optim does them.
at::Tensor five_steps(const std::string& keys, bool decays) {
  const at::NoGradGuard no_grad;
  const auto recipe = recipe_with("optimizer", "adamw", "lr = 1e-2\n" + keys);
  FlatRange range;
  range.values = at::linspace(-1, 1, 5);
  range.gradients = at::zeros_like(range.values);
  range.decays = decays;
  const auto factory = Registry<Optimizer>::instance().find("adamw");
  const auto optimizer = factory.build(recipe.section("optimizer"), {"default", {range}, {}});
  CHECK(factory.granularity == Optimizer::Granularity::element_wise);
  for (int64_t update = 1; update <= 5; ++update) {
    range.gradients.copy_(range.values.square().mul(3));
    optimizer->step(optimizer->lr(), update);
  }
  return range.values;
}

bool near(const at::Tensor& values, std::initializer_list<float> expected) {
  return at::allclose(values, at::tensor(at::ArrayRef<float>(expected)), 0, 1e-6);
}

}  // namespace

TEST_CASE("adamw: PyTorch's defaults give its numbers") {
  CHECK(near(five_steps("betas = [0.9, 0.999]\nweight_decay = 0.01\n", true),
             {-1.0495666f, -0.5498762f, 0, 0.4499749f, 0.9496077f}));
}

TEST_CASE("adamw: decay 0.1 and beta2 0.95 give PyTorch's numbers") {
  CHECK(near(five_steps("betas = [0.9, 0.95]\nweight_decay = 0.1\n", true),
             {-1.0449435f, -0.5474594f, 0, 0.4477411f, 0.9451705f}));
}

TEST_CASE("adamw: a range that does not decay steps as Adam does") {
  CHECK(near(five_steps("betas = [0.9, 0.95]\nweight_decay = 0.1\n", false),
             {-1.050036f, -0.5500555f, 0, 0.450128f, 0.9500541f}));
}
