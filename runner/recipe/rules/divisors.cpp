#include "recipe/rules/divisors.h"

#include <algorithm>

namespace exprun {
namespace {

// A factor of a larger number that is beyond it is not looked for: a help text takes no seconds.
constexpr int64_t kLargestTried = 1'000'000;

std::string would(int64_t below, int64_t above) {
  if (below < 1 || below == above) return std::to_string(above) + " would";
  return std::to_string(below) + " or " + std::to_string(above) + " would";
}

}  // namespace

std::string near_divisors(int64_t whole, int64_t wanted) {
  int64_t below = 1, above = whole;
  for (int64_t small = 1; small <= std::min(whole / small, kLargestTried); ++small) {
    if (whole % small != 0) continue;
    for (const int64_t divisor : {small, whole / small}) {
      if (divisor <= wanted) below = std::max(below, divisor);
      if (divisor >= wanted) above = std::min(above, divisor);
    }
  }
  return would(std::min(below, above), above);
}

std::string near_multiples(int64_t unit, int64_t wanted) {
  const int64_t below = wanted / unit * unit;
  int64_t above = 0;
  if (__builtin_add_overflow(below, unit, &above)) above = below;
  return would(below, above);
}

}  // namespace exprun
