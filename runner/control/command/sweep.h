// The commands of `exprun sweep` that look at sweeps or stop them, a file each.
#pragma once

#include <string>

#include "control/command/command.h"
#include "control/report/table.h"
#include "control/sweep/run/run_trials.h"
#include "control/sweep/stored_sweeps.h"

namespace exprun {

std::span<const Command> sweep_commands();

int run_sweep_ls(const Words& words, const Globals& globals);
int run_sweep_show(const Words& words, const Globals& globals);
int run_sweep_stop(const Words& words, const Globals& globals);

// What `exprun sweep` says when no trial runs any more: how many finished, the best of them, and
// the commands that come next. `recipe` is the file's name, or empty where no file was given.
void say_how_it_ended(const Store& store, const StoreFolder& folder, const SweepPlan& plan,
                      const SweepEnd& end, const std::string& recipe);

// A row for each trial: its changes, how it stands, its best value of the sweep's metric.
ResultTable trials_table(const StoredSweep& sweep);

// A row for each point of a sweep of several seeds, the best first: its values, and the mean of the
// sweep's metric.
ResultTable means_table(const StoredSweep& sweep);

}  // namespace exprun
