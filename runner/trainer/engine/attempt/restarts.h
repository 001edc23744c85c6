// What a rank above 0 tells its launcher of rank 0's restarts, in the file that
// control/launch/ranks/distributed_command.cpp reads.
#pragma once

#include "dist/rank_place.h"

namespace exprun {

// How often all ranks have been started again so far, and may be at most.
void report_restarts(const RankPlace& place, int so_far, int most);

// The launcher is not to start this rank again.
void forbid_restarts(const RankPlace& place);

}  // namespace exprun
