#include "control/launch/run/repeated_run.h"

#include <algorithm>

#include "base/files/checkpoints.h"
#include "base/strings.h"
#include "control/launch/run/present_folder.h"

namespace exprun {
namespace {

bool has_checkpoint(const RunFolder& run, int64_t step) {
  const auto complete = complete_checkpoints(run);
  return std::ranges::find(complete, step, &CheckpointFolder::step) != complete.end();
}

// Nothing where its checkpoint is here.
std::string what_is_gone(const StoreFolder& folder, const std::optional<RunRow>& forked,
                         int64_t step) {
  if (!forked || !has_folder(folder, forked->folder)) return "which is not in this store any more";
  if (!has_checkpoint(folder.run(forked->folder), step))
    return "whose checkpoint of that step is gone";
  return "";
}

}  // namespace

std::optional<RunRow> run_with(const Store& store, std::string RunRow::*key,
                               const std::string& value) {
  for (const auto& runs : {store.runs(), store.removed_runs()})
    if (const auto found = std::ranges::find(runs, value, key); found != runs.end()) return *found;
  return std::nullopt;
}

std::string why_not_repeated(const StoreFolder& folder, const RunRow& run) {
  const auto origin = origin_of(run);
  if (!origin) return "";
  const Store store(folder.database(), Store::Access::read_only);
  const auto forked = run_with(store, &RunRow::uid, origin->uid);
  const std::string gone = what_is_gone(folder, forked, origin->step);
  if (gone.empty()) return "";
  const std::string why = "is a fork of " + describe_origin(run.origin) + ", " + gone;
  if (has_checkpoint(folder.run(run.folder), origin->step))
    return why + "; `exprun fork " + shell_quoted(run.folder) + " --step " +
           std::to_string(origin->step) + (origin->fresh_optimizer ? " --fresh-optimizer" : "") +
           store_option(folder.shown) + "` begins with its own copy";
  if (forked && !forked->removed_ms && !complete_checkpoints(folder.run(forked->folder)).empty())
    return why + ", so it cannot be repeated; `exprun fork " + folder.words_for(forked->folder) +
           "` with key=value... begins with the newest checkpoint there";
  return why + ", so it cannot be repeated";
}

std::string how_to_train_again(const StoreFolder& folder, const std::string& run,
                               const std::vector<std::string>& changes) {
  const Store store(folder.database(), Store::Access::read_only);
  const auto row = run_with(store, &RunRow::folder, run);
  const std::string why = row ? why_not_repeated(folder, *row) : "";
  if (!why.empty()) return "it " + why;
  return "`exprun rerun " + folder.words_for(run, changes) + "` trains it again";
}

}  // namespace exprun
