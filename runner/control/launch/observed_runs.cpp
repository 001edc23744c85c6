#include "control/launch/observed_runs.h"

#include "store/run_state.h"

namespace exprun {
namespace {

bool seems_crashed(const StoreFolder& folder, const RunRow& run) {
  return run.state == RunState::running && observed_state(run, folder.path) == RunState::crashed;
}

}  // namespace

RunRow observed(const Store& store, const StoreFolder& folder, RunRow run) {
  if (!seems_crashed(folder, run)) return run;
  // It may have ended after the row was read: an end is recorded before the lock is let go.
  run = *store.run(run.id);
  if (run.state == RunState::running) run.state = observed_state(run, folder.path);
  return run;
}

RunRow settled(Store& store, const StoreFolder& folder, const RunRow& run) {
  if (!seems_crashed(folder, run)) return run;
  store.settle_crashed(run);
  return *store.run(run.id);
}

std::vector<RunRow> settled_runs(Store& store, const StoreFolder& folder, const std::string& name,
                                 const std::string& recipe_hash) {
  std::vector<RunRow> runs = store.runs(name, recipe_hash);
  for (RunRow& run : runs) run = settled(store, folder, run);
  return runs;
}

std::string is_running(const RunRow& run) {
  return "is running (process " + std::to_string(run.pid) + " on " + run.host + ")";
}

}  // namespace exprun
