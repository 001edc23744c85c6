// Packs are made of rows (packed_points.h).
#pragma once

#include "store/connection.h"

namespace exprun {

inline constexpr size_t kPacksInPart = 300;  // as many as a short transaction takes

// Packs the next rows of a run, as many as a short transaction takes. Inside a write transaction.
// Returns how many: 0 when there are none left, or the run may not be packed (it is running or
// removed).
int64_t pack_part(Connection& connection, int64_t run);

}  // namespace exprun
