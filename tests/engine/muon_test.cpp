// What Muon's iteration costs; what it computes is in optimizer_golden_test.cpp and in parity/.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/optimizer.h"
#include "support/sections.h"

using namespace exprun;

namespace {

// Of the fastest of some steps of a matrix.
double step_seconds(const std::string& format) {
  const at::NoGradGuard no_grad;
  Parameter parameter{"p", ParameterClass::matrix, at::randn({256, 256}), {}};
  parameter.tensor.set_requires_grad(true);
  parameter.tensor.mutable_grad() = at::randn({256, 256});
  ParameterGroup group{"default", {}, {parameter}};
  const auto recipe =
      recipe_with("optimizer", "muon", "lr = 0.1\nnewton_schulz_format = \"" + format + "\"\n");
  const auto optimizer =
      Registry<Optimizer>::instance().find("muon").build(recipe.section("optimizer"), group);
  double fastest = std::numeric_limits<double>::infinity();
  for (int64_t step = 1; step <= 4; ++step) {
    const auto began = std::chrono::steady_clock::now();
    optimizer->step(optimizer->lr(), step);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began;
    fastest = std::min(fastest, time.count());
  }
  return fastest;
}

}  // namespace

// Multiplied one number after another, as ATen does without AVX-512, bf16 takes a hundred times as
// long.
TEST_CASE("muon: its iteration in bf16 takes no many times that in fp32") {
  const double fp32 = step_seconds("fp32"), bf16 = step_seconds("bf16");
  MESSAGE("bf16 ", 1e3 * bf16, " ms, fp32 ", 1e3 * fp32, " ms");
  CHECK(bf16 < 15 * fp32);
}
