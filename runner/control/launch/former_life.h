// A command that its launcher has started anew: torchrun restarts ranks, SLURM requeues jobs. What
// the same command began in an earlier life is gone on with.
#pragma once

#include <optional>

#include "control/launch/joined_rank.h"
#include "store/store.h"

namespace exprun {

// How often so far, whatever the number of ranks; 0 where nothing says so.
int lives_before(const Variables& variables);

// Whether the run's first attempt was begun in the job (or by the torchrun) that these variables
// name: with --new, it is the run to go on with. No where they name none.
bool was_begun_in_this_job(const Store& store, const RunRow& run, const Variables& variables);

// Records that the run has crashed, if it is recorded as running on another machine and has given
// no sign of life for this long. Whoever may still be there keeps the run's lock.
void give_up_lost_machine(Store& store, const RunRow& run);

}  // namespace exprun
