#include "recipe/divisors.h"

#include <algorithm>

namespace exprun {
namespace {

std::string would(int64_t below, int64_t above) {
  if (below < 1 || below == above) return std::to_string(above) + " would";
  return std::to_string(below) + " or " + std::to_string(above) + " would";
}

}  // namespace

std::string near_divisors(int64_t whole, int64_t wanted) {
  int64_t below = 1, above = whole;
  for (int64_t small = 1; small <= whole / small; ++small) {
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
  return would(below, below + unit);
}

}  // namespace exprun
