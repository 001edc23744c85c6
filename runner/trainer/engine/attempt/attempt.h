// One attempt of a run, in its trainer: from the files in the run's folder to an exit code.
#pragma once

#include <filesystem>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/file_lock.h"
#include "dist/rank_place.h"
#include "engine/attempt/shutdown_barrier.h"
#include "engine/record/store_recorder.h"

namespace exprun {

// As rank 0: trains the run from its start or from a checkpoint until it ends or is stopped, and
// records it. Throws RecipeError, Error.
// `checkpoint_recipe` is the hash of the checkpoint's recipe where that is not the run's any more.
// `weights` is the lock of a checkpoint that init_from names: held until it is loaded.
ExitCode run_attempt(const StoredRun& run, const std::optional<std::filesystem::path>& checkpoint,
                     const std::string& checkpoint_recipe, const RankPlace& place,
                     std::optional<FileLock> weights);

// As any other rank: trains with what rank 0 sends at the rendezvous. From then on it watches the
// stop signals; before that they end the process. `recipe_hash` as in hand_over.h, `weights` as
// above. Throws RecipeError, Error.
ExitCode follow_attempt(const RankPlace& place, const std::optional<std::string>& recipe_hash,
                        std::optional<FileLock> weights);

// As rank 0, which does not train: all others end as the notice says, if they join in time.
void shut_down_others(const RankPlace& place, const ShutdownNotice& shutdown_notice);

}  // namespace exprun
