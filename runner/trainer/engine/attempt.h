// One life of a run's trainer: from the files in the run's folder to an exit code.
#pragma once

#include <filesystem>
#include <optional>

#include "base/exit_code.h"
#include "engine/store_recorder.h"

namespace exprun {

// Trains the run from its start or from a checkpoint until it ends or is stopped. Throws
// RecipeError, Error.
ExitCode run_attempt(const StoredRun& run, const std::optional<std::filesystem::path>& checkpoint);

}  // namespace exprun
