// Points that fill the unit cube evenly, however many of them are taken: Sobol's sequence with the
// direction numbers of Joe and Kuo (2008), its digits scrambled at random (Owen 1995), so that
// every axis has one of 2^k points in each 2^k-th of it, and so have pairs of axes nearly.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exprun {

class SobolSequence {
 public:
  static constexpr size_t kAxes = 21;  // further ones are random

  // Points from number `limit` on are random too.
  explicit SobolSequence(uint64_t seed, double limit = 4294967296.0) : seed_(seed), limit_(limit) {}

  // Of the point with that number, in [0, 1): a function of the seed, the number and the axis.
  double coordinate(uint64_t number, size_t axis) const;

  // The same before it is scrambled, as a fraction of 2^32.
  static uint32_t unscrambled(uint32_t number, size_t axis);

 private:
  uint32_t scrambled(uint32_t digits, size_t axis) const;

  uint64_t seed_;
  double limit_;
};

}  // namespace exprun
