// The axes of a sweep: the values of its points, and what its finished trials say of them. Nothing
// here reads a store.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/report/compare/spread.h"
#include "control/report/table.h"

namespace exprun {

// "lr=0.001 num_layers=4" as pairs of a key and its value's text, and back. A space that no
// "key=" follows is of the value, as in "warmup=5 steps lr=0.001", and so is one in quotes or
// brackets.
using AxisValues = std::vector<std::pair<std::string, std::string>>;
AxisValues axis_values(const std::string& changes);
std::string to_string(const AxisValues& values);

struct ScoredPoint {
  AxisValues values;
  double score = 0;
};

// How much of the variance of the scores the values of one axis explain beside all others: by how
// much an effect of each value lowers the squares that effects of the other axes leave, less what
// as many random groups would (an analysis of variance with main effects, "epsilon squared";
// Kelley 1935), never below 0. Of several axes, many different numbers are grouped into quartiles.
// Nothing where there are too few points to tell, as where one axis differs in each.
struct Importance {
  std::vector<std::string> axes;  // several where they part the points alike, as those of a zip
  std::optional<double> explained;
};
// The axes in the order of the points, without that of replicates.
std::vector<Importance> importance_of_axes(const std::vector<ScoredPoint>& points);
// What no axis explains alone: interactions of axes, other settings such as the seed, and noise;
// never below 0. Nothing where there are too few points to tell.
std::optional<double> unexplained_variance(const std::vector<ScoredPoint>& points);

// Without the axis of replicates (is_replicate of sweep_space.h).
AxisValues without_replicate(const AxisValues& point);

// Points that differ in the replicate only: its values are left out.
struct Replicates {
  AxisValues point;  // empty where nothing else varies
  Spread spread;
};
// As ranked(); empty where there is no replicate.
std::vector<Replicates> replicates_of(const std::vector<ScoredPoint>& points, bool maximize);

// The axes as columns of a table of points.
class AxisColumns {
 public:
  // Of all points: an axis is what any of them changes.
  explicit AxisColumns(const std::vector<AxisValues>& points);

  size_t count() const { return axes_.size(); }
  // Titled as short as they can be told apart: "lr". Numbers stand right.
  std::vector<Column> columns(size_t rank = 0) const;
  // One for each column; empty where the point leaves the axis as it is.
  std::vector<Cell> cells(const AxisValues& point) const;

 private:
  std::vector<std::string> axes_;
  std::vector<bool> are_numbers_;
};

}  // namespace exprun
