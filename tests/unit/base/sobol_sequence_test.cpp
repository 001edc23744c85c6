#include "base/sobol_sequence.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

using namespace exprun;

TEST_CASE("Sobol' sequence: the points that PyTorch's SobolEngine has") {
  CHECK(SobolSequence::unscrambled(3, 1) == 1073741824u);
  CHECK(SobolSequence::unscrambled(3, 5) == 3221225472u);
  CHECK(SobolSequence::unscrambled(3, 20) == 1073741824u);
  CHECK(SobolSequence::unscrambled(4, 1) == 2684354560u);
  CHECK(SobolSequence::unscrambled(4, 5) == 1610612736u);
  CHECK(SobolSequence::unscrambled(4, 20) == 3758096384u);
  CHECK(SobolSequence::unscrambled(7, 1) == 3758096384u);
  CHECK(SobolSequence::unscrambled(7, 5) == 2684354560u);
  CHECK(SobolSequence::unscrambled(7, 20) == 2684354560u);
  CHECK(SobolSequence::unscrambled(100, 1) == 3321888768u);
  CHECK(SobolSequence::unscrambled(100, 5) == 301989888u);
  CHECK(SobolSequence::unscrambled(100, 20) == 1442840576u);
}

TEST_CASE(
    "Sobol' sequence: scrambled, 2^k points lie in as many parts of an axis, and of pairs in "
    "most") {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const SobolSequence sequence(seed);
    for (size_t axis = 0; axis < SobolSequence::kAxes; ++axis) {
      std::set<int> parts, cells;
      for (uint64_t i = 0; i < 64; ++i) {
        parts.insert(static_cast<int>(sequence.coordinate(i, axis) * 64));
        const size_t next = (axis + 1) % SobolSequence::kAxes;
        cells.insert(static_cast<int>(sequence.coordinate(i, axis) * 8) * 8 +
                     static_cast<int>(sequence.coordinate(i, next) * 8));
      }
      CHECK(parts.size() == 64);
      CHECK(cells.size() >= 32);
    }
  }
}

TEST_CASE("Sobol' sequence: behind its limit and its axes points are random") {
  const SobolSequence limited(7, 2), unlimited(7);
  CHECK(limited.coordinate(1, 0) == unlimited.coordinate(1, 0));
  CHECK(limited.coordinate(2, 0) != unlimited.coordinate(2, 0));
  double sum = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const double beyond = unlimited.coordinate(i, SobolSequence::kAxes + 3);
    CHECK((beyond >= 0 && beyond < 1));
    sum += beyond;
  }
  CHECK(std::abs(sum / 1000 - 0.5) < 0.05);
}
