// How much of many curves a page holds, so that it stays small.
#pragma once

#include <cstddef>
#include <vector>

namespace exprun {

// A curve before it is read.
struct CurveSize {
  size_t values = 0;
  size_t name = 0;  // bytes
  size_t last_step = 0;
};

struct CurveRoom {
  size_t points = 0;  // the most that a curve keeps
  size_t curves = 0;  // the first of them that have room; the others are left out
};

// The most points with which all curves have room in so many bytes of a page; where the fewest that
// show a curve are too many, as many curves as have room with these.
CurveRoom room_for(const std::vector<CurveSize>& curves, size_t bytes);

}  // namespace exprun
