#include "control/report/html/page_room.h"

#include <algorithm>
#include <string>

namespace exprun {
namespace {

constexpr size_t kMostPoints = 1'000;  // more than a chart has pixels
constexpr size_t kFewestPoints = 16;
constexpr size_t kBytesOfValue = 10;                         // "0.0012345,"
constexpr size_t kBytesAround = sizeof "\"\":[[],[]]," - 1;  // of a curve

size_t bytes_of(const CurveSize& curve, size_t points) {
  const size_t step = std::to_string(curve.last_step).size() + 1;
  return kBytesAround + curve.name + std::min(curve.values, points) * (step + kBytesOfValue);
}

// How many of the curves fit.
size_t fitting(const std::vector<CurveSize>& curves, size_t points, size_t bytes) {
  size_t used = 0, fit = 0;
  for (const CurveSize& curve : curves) {
    used += bytes_of(curve, points);
    if (used > bytes) break;
    ++fit;
  }
  return fit;
}

}  // namespace

CurveRoom room_for(const std::vector<CurveSize>& curves, size_t bytes) {
  size_t low = kFewestPoints, high = kMostPoints;
  while (low < high) {  // the most points with which all fit
    const size_t middle = (low + high + 1) / 2;
    if (fitting(curves, middle, bytes) == curves.size())
      low = middle;
    else
      high = middle - 1;
  }
  return {low, fitting(curves, low, bytes)};
}

}  // namespace exprun
