// What the finished trials of a sweep say of its axes. Pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace exprun {

// "lr=0.001 num_layers=4" as pairs of a key and its value's text. A space in quotes or brackets is
// of the value.
using AxisValues = std::vector<std::pair<std::string, std::string>>;
AxisValues axis_values(const std::string& changes);

struct ScoredPoint {
  AxisValues values;
  double score = 0;
};

// How much of the variance of the scores the values of one axis explain: 1 minus the ratio of the
// variance within equal values to that of all (adjusted for the number of values, "epsilon
// squared"; Kelley 1935), never below 0. Many different numbers are grouped into quarters first.
// Nothing where there are too few points to tell.
struct Importance {
  std::string axis;
  std::optional<double> explained;
};
// The axes in the order of the points; those of replicates (is_replicate of sweep_space.h) are left
// out.
std::vector<Importance> importance_of_axes(const std::vector<ScoredPoint>& points);

// Points that differ in the replicate only.
struct Replicates {
  std::string changes;  // without the replicate: "lr=0.001"; "all" where nothing else varies
  size_t count = 0;
  double mean = 0, deviation = 0;  // of the sample (n - 1); 0 for a single one
};
// In the order of the points; empty where there is no replicate.
std::vector<Replicates> replicates_of(const std::vector<ScoredPoint>& points);

}  // namespace exprun
