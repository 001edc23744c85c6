#include "control/launch/observed_runs.h"

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
  return as_observed(*store.run(run.id), folder.path);
}

RunRow settled(Store& store, const RunRow& run) {
  if (run.state != RunState::running) return run;
  store.settle(run);
  return *store.run(run.id);
}

std::vector<RunRow> settled_runs(Store& store, const std::string& name,
                                 const std::string& recipe_hash) {
  std::vector<RunRow> runs = store.runs(name, recipe_hash);
  for (RunRow& run : runs) run = settled(store, run);
  return runs;
}

std::string is_running(const RunRow& run) {
  return "is running (process " + std::to_string(run.pid) + " on " + run.host + ")";
}

}  // namespace exprun
