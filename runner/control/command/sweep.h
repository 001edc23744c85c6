// The commands of `exprun sweep` that look at sweeps or stop them, a file each.
#pragma once

#include "control/command/command.h"

namespace exprun {

std::span<const Command> sweep_commands();

int run_sweep_ls(const Words& words, const Globals& globals);
int run_sweep_show(const Words& words, const Globals& globals);
int run_sweep_stop(const Words& words, const Globals& globals);

// The ids of all sweeps, for completion.
Words sweep_ids(const StoreFolder& folder);

}  // namespace exprun
