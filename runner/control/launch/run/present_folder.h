// Whether a run's folder is in its store: `exprun merge` copies the records of runs, not their
// checkpoints, data and logs.
#pragma once

#include <string>

#include "control/launch/store_folder.h"

namespace exprun {

// Of the run with this folder.
bool has_folder(const StoreFolder& folder, const std::string& run);

// Throws Error that begins with the command and says so where it is not here; `or_else` is
// what else the command offers.
void require_run_folder(const StoreFolder& folder, const std::string& run,
                        const std::string& command, const std::string& or_else = "");

// Where it is as the user would write it, or that it is not here.
std::string shown_folder(const StoreFolder& folder, const std::string& run);

}  // namespace exprun
