// What a rank above 0 tells its launcher of rank 0's restarts (control/launch/ranks/
// allowed_restarts.h reads it).
#pragma once

#include "dist/rank_place.h"

namespace exprun {

// How often all ranks have been started again so far, and may be at most.
void report_restarts(const RankPlace& place, int so_far, int most);

void forbid_restarts(const RankPlace& place);

}  // namespace exprun
