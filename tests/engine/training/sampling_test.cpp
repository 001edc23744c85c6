// The probabilities that tokens are drawn by.
#include "engine/inference/sampling.h"

#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace exprun {
namespace {

// Of tokens whose probabilities are 0.3, 0.05, 0.5 and 0.15 before anything is left out.
std::vector<double> kept(double temperature, int64_t top_k, double top_p) {
  const std::vector<double> logits = {std::log(0.3), std::log(0.05), std::log(0.5), std::log(0.15)};
  return token_probabilities(at::tensor(logits, at::kDouble), temperature, top_k, top_p);
}

void check(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
}

}  // namespace

TEST_CASE("sampling: top-p keeps the fewest likely tokens that have so much probability") {
  check(kept(1, 0, 1), {0.3, 0.05, 0.5, 0.15});
  check(kept(1, 0, 0.96), {0.3, 0.05, 0.5, 0.15});
  check(kept(1, 0, 0.94), {0.3 / 0.95, 0, 0.5 / 0.95, 0.15 / 0.95});
  check(kept(1, 0, 0.81), {0.3 / 0.95, 0, 0.5 / 0.95, 0.15 / 0.95});
  check(kept(1, 0, 0.79), {0.375, 0, 0.625, 0});
  check(kept(1, 0, 0.51), {0.375, 0, 0.625, 0});
  check(kept(1, 0, 0.49), {0, 0, 1, 0});
  check(kept(1, 0, 1e-9), {0, 0, 1, 0});
}

TEST_CASE("sampling: temperature comes first, then top-k, then top-p of what that leaves") {
  check(kept(1, 2, 1), {0.375, 0, 0.625, 0});
  check(kept(1, 2, 0.62), {0, 0, 1, 0});  // 0.5 of all would not be enough
  // Squares: 0.09, 0.0025, 0.25 and 0.0225, which add up to 0.365.
  check(kept(0.5, 0, 1), {0.09 / 0.365, 0.0025 / 0.365, 0.25 / 0.365, 0.0225 / 0.365});
  check(kept(0.5, 0, 0.68), {0, 0, 1, 0});  // 0.685 is of the most likely
  check(kept(0, 0, 1), {0, 0, 1, 0});
}

}  // namespace exprun
