// Rows are made of packs again (packed_points.h), for what changes them.
#pragma once

#include "store/connection.h"

namespace exprun {

// These run inside a write transaction.

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
