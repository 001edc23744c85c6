// Packed values: a row of packed_metric holds 108 values of a series, one of packed_steps their
// steps and times, which the series of a run share (FORMAT.md). That takes less than half of the
// bytes of rows, and plain SQL still reads it. A value is a row or in a pack, never both; the rows
// of a series lie after its packs.
#pragma once

#include <string>

#include "store/points.h"

namespace exprun {

inline constexpr size_t kPackPoints = 108;  // the format's: the tables have so many columns

// "v0, v1, ..." for "v": a column of each point for each letter, with `behind` behind each.
std::string pack_columns(const std::string& letters, const std::string& separator = ", ",
                         const std::string& behind = "");

// Visits the packed values of a series after a step, in order; use each_point (points.h).
void each_packed_point(Connection& connection, int64_t series, int64_t after_step,
                       const std::function<void(const StampedValue&)>& visit);

}  // namespace exprun
