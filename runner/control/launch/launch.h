// From a recipe to a trained run: which run it is, its data, its folder, lock and row, its trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/files/file_lock.h"
#include "base/log.h"
#include "control/launch/ranks/external_launcher.h"
#include "control/launch/run/forked_run.h"
#include "control/launch/run/which_run.h"
#include "control/launch/store_folder.h"
#include "recipe/resolved.h"
#include "store/store.h"

namespace exprun {

// Told when an attempt has its folder and its row, before its trainer starts.
using AttemptBegun = std::function<void(const RunFolder& folder, int64_t run, int64_t attempt)>;

struct LaunchRequest {
  RecipeText text;
  ResolvedRecipe resolved;  // without facts of the data
  std::string command_line;
  LogLevel level = LogLevel::info;
  std::optional<int64_t> sweep_id, trial;
  // The id of a run that a new one replaces, if it is still the newest of its recipe.
  std::optional<int64_t> instead_of = std::nullopt;
  bool continues_pruned = false;  // a run that was stopped early goes on, too
  bool log_to_file = false;       // rank 0 writes to the run's logs, as the other ranks do
  std::optional<LocalRanks> ranks = std::nullopt;   // of others launched elsewhere: with rank 0
  bool extends = false;                             // the run that is continued gets this recipe
  std::optional<ForkOrigin> origin = std::nullopt;  // the new run is a fork of it
  std::optional<RunRow> repeated = std::nullopt;    // the run whose recipe is run again; with
                                                    // `origin` where that is a fork
  // Lock of the checkpoint of another run that this one begins with. It is released as soon as the
  // checkpoint is copied, or when the trainers have it, which hold it until they have loaded the
  // weights.
  std::optional<FileLock>* held_weights = nullptr;
  AttemptBegun begun = {};

  // The run that a new one is a repetition or else a fork of; nothing where there is none.
  std::optional<RunRow> source() const;
};

struct Launch {
  Decision decision = Decision::start_new;
  RunRow run;                                   // as it is now
  std::optional<int> exit_code = std::nullopt;  // of the trainer, if one ran
  bool others_wait = false;  // ranks of other machines wait for a restart that does not come
  bool has_runs_on_other_data = false;  // as that of WhichRun
};

// Finds the run of this recipe and starts or continues it if it has not ended; else changes
// nothing. Two launches of one recipe at once make one run. Throws RecipeError, Error.
Launch launch(Store& store, const StoreFolder& folder, const LaunchRequest& request,
              bool always_new);

// The option that a command needs to mean this store, where it is not the usual one: " --store /a".
std::string store_option(const StoreFolder& folder);

// What to do where `run` cannot continue: "start a new run: exprun rerun mine-1a2b3c4d", with these
// changes; one that cannot be repeated is forked.
std::string how_to_start_anew(const RunRow& run, const StoreFolder& folder,
                              const std::vector<std::string>& changes = {});
// The same with those of the request that extend it.
std::string how_to_start_anew(const LaunchRequest& request, const RunRow& run,
                              const StoreFolder& folder);

// Held while a launch decides which run it is and writes its row, and while data that no run uses
// are removed. Throws Error where another holds it for 30 s.
FileLock launch_lock(const StoreFolder& folder);

// Another attempt of a run that has ended, whatever its state. Throws Error if it is running.
Launch launch_continuation(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                           const RunRow& run);

}  // namespace exprun
