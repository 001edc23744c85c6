// The commands of `exprun data`, a file each.
#pragma once

#include "control/command/command.h"

namespace exprun {

std::span<const Command> data_commands();

int run_data_prepare(const Words& words, const Globals& globals);
int run_data_fetch(const Words& words, const Globals& globals);
int run_data_info(const Words& words, const Globals& globals);
int run_data_verify(const Words& words, const Globals& globals);
int run_data_head(const Words& words, const Globals& globals);

}  // namespace exprun
