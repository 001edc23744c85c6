// Packed values: a row of packed_metric holds 108 values of a series, one of packed_steps their
// steps and times, which the series of a run share (FORMAT.md). That takes less than half of the
// bytes of rows, and plain SQL still reads it. A value is a row or in a pack, never both; the rows
// of a series lie after its packs.
#pragma once

#include "store/points.h"

namespace exprun {

// Visits the packed values of a series after a step, in order; use each_point (points.h).
void each_packed_point(Connection& connection, int64_t series, int64_t after_step,
                       const std::function<void(const StampedValue&)>& visit);

// These run inside a write transaction.

// Packs the next rows of a run, as many as a short transaction takes. Returns how many: 0 when
// there are none left, or the run may not be packed (it is running or removed).
int64_t pack_part(Connection& connection, int64_t run);

// Makes rows of the packs that reach beyond `after_step`, the latest first, as many as a short
// transaction takes. Where a damaged store has a row too, the row stays, and the summary is made
// anew. Returns how many values: 0 when none is left, or the run is being purged.
int64_t unpack_part(Connection& connection, int64_t series, int64_t after_step);

// All of them.
void unpack(Connection& connection, int64_t series, int64_t after_step);

// And these make transactions of their own, a part in each: a series, and all series of a run.
int64_t unpack_series_in_parts(Connection& connection, int64_t series, int64_t after_step);
int64_t unpack_in_parts(Connection& connection, int64_t run, int64_t after_step);

}  // namespace exprun
