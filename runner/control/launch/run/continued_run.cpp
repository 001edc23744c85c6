#include "control/launch/run/continued_run.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/run/new_run.h"
#include "control/launch/run/run_data.h"
#include "control/launch/run/run_lock.h"
#include "control/launch/run/which_run.h"
#include "store/end_record.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// Between the decision and the lock another process may have continued the run, even to its end,
// or removed it.
void require_unchanged(const Store& store, const StoreFolder& folder, const RunRow& run) {
  const std::optional<RunRow> now = store.run(run.id);
  if (!now)
    throw Error("launch: " + run.folder +
                " was deleted from disk meanwhile; start a new run from its recipe file");
  if (now->removed_ms)
    throw Error("launch: " + run.folder + " was removed meanwhile; exprun restore " +
                folder.words_for(run.folder) + " brings it back");
  if (now->attempt == run.attempt && now->state == run.state) return;
  throw Error("launch: another process has continued " + run.folder + " meanwhile (now " +
              to_string(now->state) + " at step " + std::to_string(now->last_step) +
              "); run the same command again to continue from there");
}

void require_same_data(const RunRow& run, const RunFolder& folder, const PreparedData& data,
                       const std::string& instead) {
  if (run.data_fingerprint == data.fingerprint) return;
  throw Error(
      "launch: " + changed_data(data, run, folder) +
      (outlives_its_text(data, folder)
           ? ", move the changed text away (the run then continues with its prepared tokens)"
           : "") +
      ", continue with the version that began it, or " + instead);
}

void say_where(const RunRow& run, int64_t from_step, int64_t steps) {
  const std::string from = from_step ? "step " + std::to_string(from_step) : "the start";
  log_info("continuing " + run.folder + " (" + state_text(run) + ") from " + from + " of " +
           pluralize(steps, "step"));
}

std::optional<ChangedRecipe> changed_recipe(const LaunchRequest& request,
                                            const PreparedLaunch& prepared, const RunRow& run) {
  if (!request.extends || request.resolved.hash() == run.recipe_hash) return std::nullopt;
  return ChangedRecipe{request.resolved.hash(), stored_text(request), prepared.resolved.to_toml(),
                       prepared.steps, parameter_rows(prepared.resolved)};
}

// Of the checkpoint, where it is not the run's any more but was one of its earlier attempts'.
std::string former_recipe(const Store& store, const RunRow& run, const fs::path& checkpoint,
                          const std::string& recipe_hash) {
  const std::string made_with = checkpoint_facts(checkpoint).recipe_hash;
  if (made_with == recipe_hash) return "";
  for (const AttemptRow& attempt : store.attempts(run.id))
    if (attempt.recipe_hash == made_with) return made_with;
  return "";
}

}  // namespace

Attempt continue_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                     const PreparedLaunch& prepared, const RunRow& run) {
  const RunFolder run_folder = folder.run(run.folder);
  const std::string instead = how_to_start_anew(request, run, folder);
  FileLock lock = lock_to_continue(store, run_folder, run, instead);
  require_unchanged(store, folder, run);
  require_same_data(run, run_folder, prepared.data, instead);
  const auto& checkpoint = prepared.checkpoint;
  const int64_t from_step = checkpoint ? checkpoint->step : 0;
  reserve_end_record(lock.fd());
  write_hand_over(run_folder, request, prepared.data);
  say_where(run, from_step, prepared.steps);
  add_new_tags_aloud(store, run, prepared.resolved);
  const int64_t number = store.begin_attempt(run.id, from_step, prepared.provenance,
                                             changed_recipe(request, prepared, run));
  Attempt attempt{run.id,          number,       run_folder, folder.shown / run.folder,
                  std::move(lock), std::nullopt, "",         world_size(prepared.resolved),
                  prepared.trainer};
  if (!checkpoint) return attempt;
  attempt.resume_from = checkpoint->path;
  attempt.checkpoint_recipe = former_recipe(store, run, checkpoint->path, request.resolved.hash());
  return attempt;
}

}  // namespace exprun
