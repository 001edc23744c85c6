#include "control/launch/continued_run.h"

#include "base/counted.h"
#include "base/diagnostic.h"
#include "control/launch/new_run.h"
#include "control/launch/observed_runs.h"
#include "control/launch/ranks/ranks.h"
#include "store/last_words.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

FileLock lock_of(const Store& store, const RunFolder& folder, const RunRow& run) {
  std::error_code ignored;
  if (!fs::is_directory(folder.path, ignored))
    throw Error("launch: the folder of " + run.folder + " is gone (" + folder.path.string() +
                "); start anew with --new");
  if (auto lock = FileLock::try_take(folder.lock())) return std::move(*lock);
  throw Error("launch: " + run.folder + ' ' + is_running(store.run(run.id).value_or(run)) +
              "; stop it first");
}

// Between the decision and the lock another process may have continued the run, even to its end,
// or removed it.
void require_unchanged(const Store& store, const RunRow& run) {
  const std::optional<RunRow> now = store.run(run.id);
  if (!now)
    throw Error("launch: " + run.folder +
                " was taken off the disk meanwhile; start anew with --new");
  if (now->removed_ms)
    throw Error("launch: " + run.folder + " was removed meanwhile; exprun restore " + run.folder +
                " brings it back");
  if (now->attempt == run.attempt && now->state == run.state) return;
  throw Error("launch: another process has continued " + run.folder + " meanwhile (now " +
              to_string(now->state) + " at step " + std::to_string(now->last_step) +
              "); the same command again goes on from there");
}

void require_same_data(const RunRow& run, const PreparedData& data) {
  if (run.data_fingerprint == data.fingerprint) return;
  throw Error("launch: the data of " + run.folder + " has changed since it began (fingerprint " +
              run.data_fingerprint.substr(0, 8) + ", now " + data.fingerprint.substr(0, 8) +
              "), or this version of exprun makes it otherwise; bring the old data back, continue "
              "with the version that began it, or start a new run with --new");
}

void say_where(const RunRow& run, int64_t from_step) {
  const std::string from = from_step ? "step " + std::to_string(from_step) : "the start";
  log_info("continuing " + run.folder + " (" + to_string(run.state) + ") from " + from + " of " +
           counted(run.steps, "step"));
}

}  // namespace

Attempt begin_again(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                    const PreparedLaunch& prepared, const RunRow& run) {
  const RunFolder run_folder = folder.run(run.folder);
  FileLock lock = lock_of(store, run_folder, run);
  require_unchanged(store, run);
  require_same_data(run, prepared.data);
  const auto& checkpoint = prepared.checkpoint;
  const int64_t from_step = checkpoint ? checkpoint->step : 0;
  keep_room_for_last_words(lock.fd());
  write_hand_over(run_folder, request, prepared.data);
  say_where(run, from_step);
  const int64_t number = store.begin_attempt(run.id, from_step, prepared.provenance);
  Attempt attempt{run.id,
                  number,
                  run_folder,
                  folder.shown / run.folder,
                  std::move(lock),
                  std::nullopt,
                  world_size(prepared.resolved),
                  prepared.trainer};
  if (checkpoint) attempt.resume_from = checkpoint->path;
  return attempt;
}

}  // namespace exprun
