// The exit codes as help tells of them, and those that many commands share.
#pragma once

#include <vector>

#include "base/exit_code.h"

namespace exprun {

// "no such run"
const char* meaning(ExitCode code);

// Of all commands together.
extern const std::vector<ExitCode> kEveryExitCode;
// What looks runs up in the store has only these.
extern const std::vector<ExitCode> kFindsRuns;
// Also reads or changes what runs have left.
extern const std::vector<ExitCode> kReadsRuns;
// Trains a run of the store.
extern const std::vector<ExitCode> kTrains;

}  // namespace exprun
