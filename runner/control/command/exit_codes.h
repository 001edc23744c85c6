// The exit codes as help tells of them, and those that many commands share.
#pragma once

#include <vector>

#include "base/exit_code.h"

namespace exprun {

// "no such run"
const char* meaning(ExitCode code);

// Of what trains, when no code is left to choose.
inline constexpr const char* kKilled = "128 + N";
inline constexpr const char* kMeaningOfKilled = "a trainer was killed by signal N";

// Of all commands together.
extern const std::vector<ExitCode> kEveryExitCode;
// What looks runs up in the store has only these.
extern const std::vector<ExitCode> kFindsRuns;
// Also reads or changes what runs have left.
extern const std::vector<ExitCode> kReadsRuns;
// Trains a run of the store.
extern const std::vector<ExitCode> kTrains;

}  // namespace exprun
