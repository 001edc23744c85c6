// A command that its launcher has restarted: torchrun restarts ranks, SLURM requeues jobs. It goes
// on with what it began before.
#pragma once

#include <optional>
#include <string>

#include "control/launch/launch.h"

namespace exprun {

// How often so far, whatever the number of ranks; 0 where nothing says so.
int restarts_before(const Variables& variables);

// Whether this attempt of the run was begun in the job (or by the torchrun) that these variables
// name. No where they name none.
bool was_begun_in_this_job(const Store& store, const RunRow& run, int64_t attempt,
                           const Variables& variables);

// The same for the one process of torchrun on this machine that these variables name.
bool was_begun_by_this_agent(const Store& store, const RunRow& run, int64_t attempt,
                             const Variables& variables);

// Records that the run has crashed, if it is recorded as running on another machine, was begun
// there in this very job, whose earlier attempt is over, and has given no sign of life for 30 s.
void give_up_lost_machine(Store& store, const RunRow& run, const Variables& variables);

// As launch(); a command that its launcher has restarted goes on with the run that it began in
// its earlier attempt, also with `always_new`, and with one that failed there.
Launch launch_detecting_restart(Store& store, const StoreFolder& folder,
                                const LaunchRequest& request, bool always_new);

// A command that always starts a new run has made it before its restart, and it has ended: the
// command's exit code. Throws Error unless it is finished.
int ended_already(const Launch& launched, const std::string& command);

}  // namespace exprun
