#include "control/launch/observed_runs.h"

#include <algorithm>

#include "base/clock.h"
#include "store/run_state.h"

namespace exprun {
namespace {

bool seems_over(const StoreFolder& folder, const RunRow& run) {
  return run.state == RunState::running && as_observed(run, folder.path).state != RunState::running;
}

}  // namespace

RunRow observed(const Store& store, const StoreFolder& folder, RunRow run) {
  if (!seems_over(folder, run)) return run;
  // It may have ended after the row was read: an end is recorded before the lock is let go.
  return as_observed(store.run(run.id).value_or(run), folder.path);
}

RunRow settled(Store& store, const RunRow& run) {
  if (run.state != RunState::running) return run;
  store.settle(run);
  return store.run(run.id).value_or(run);
}

std::vector<RunRow> settled_runs(Store& store, const std::string& name,
                                 const std::string& recipe_hash) {
  std::vector<RunRow> runs = store.runs(name, recipe_hash);
  for (RunRow& run : runs) run = settled(store, run);
  return runs;
}

HeldRun hold(const StoreFolder& folder, const RunRow& run) {
  const RunFolder run_folder = folder.run(run.folder);
  std::error_code ignored;
  if (!std::filesystem::is_directory(run_folder.path, ignored)) return {};
  auto lock = FileLock::try_take(run_folder.lock());
  const bool is_free = lock.has_value();
  return {std::move(lock), is_free};
}

std::string is_running(const RunRow& run) {
  const std::string where = "process " + std::to_string(run.pid) + " on " + run.host;
  if (!on_another_host(run)) return "is running (" + where + ")";
  const int64_t seconds = std::max<int64_t>(0, now_ms() - run.last_beat_ms) / 1000;
  return "may be running (" + where + ", last seen alive " + std::to_string(seconds) + " s ago)";
}

}  // namespace exprun
