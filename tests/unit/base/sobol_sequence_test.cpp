#include "base/sobol_sequence.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <set>

using namespace exprun;

TEST_CASE("Sobol' sequence: the points that PyTorch's SobolEngine has") {
  struct Point {
    uint32_t number;
    std::array<uint32_t, 3> coordinates;  // of the axes 1, 5 and 20
  };
  for (const auto& [number, coordinates] : {Point{3, {1073741824, 3221225472, 1073741824}},
                                            Point{4, {2684354560, 1610612736, 3758096384}},
                                            Point{7, {3758096384, 2684354560, 2684354560}},
                                            Point{100, {3321888768, 301989888, 1442840576}}}) {
    CHECK(SobolSequence::unscrambled(number, 1) == coordinates[0]);
    CHECK(SobolSequence::unscrambled(number, 5) == coordinates[1]);
    CHECK(SobolSequence::unscrambled(number, 20) == coordinates[2]);
  }
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
