#include "kernels/custom_function.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <doctest/doctest.h>

using namespace exprun;

namespace {

at::Tensor filled(double value) {
  return at::full({2}, value);
}

// x y, where only x has a gradient.
at::Tensor product(const at::Tensor& x, const at::Tensor& y, std::vector<bool>& needed) {
  return with_custom_gradient({x, y, at::Tensor()}, [&]() -> Differentiable {
    CHECK_FALSE(at::GradMode::is_enabled());
    return {x.mul(y), {y}, [&needed](const Backward& given) -> Tensors {
              needed = given.needed;
              return {given.gradient.mul(given.kept[0]), at::Tensor(), at::Tensor()};
            }};
  });
}

}  // namespace

TEST_CASE("hand gradient: backward is told which inputs need it, of those that were given") {
  const auto x = filled(2).set_requires_grad(true), y = filled(3);
  std::vector<bool> needed;
  const auto value = product(x, y, needed);
  CHECK(at::equal(value.detach(), filled(6)));
  value.sum().backward();
  CHECK(needed == std::vector<bool>{true, false});
  CHECK(at::equal(x.grad(), filled(3)));
}

TEST_CASE("hand gradient: nothing is recorded where no input needs a gradient") {
  std::vector<bool> needed;
  CHECK_FALSE(product(filled(2), filled(3), needed).requires_grad());
}

TEST_CASE(
    "hand gradient: a kept tensor that was changed since is refused, as is a second backward") {
  const auto x = filled(2).set_requires_grad(true);
  auto y = filled(3);
  std::vector<bool> needed;
  const auto changed = product(x, y, needed).sum();
  y.add_(1);
  CHECK_THROWS_WITH(changed.backward(), doctest::Contains("modified by an inplace operation"));
  const auto twice = product(x, y, needed).sum();
  twice.backward();
  CHECK_THROWS_WITH(twice.backward(),
                    doctest::Contains("backward through the graph a second time"));
}
