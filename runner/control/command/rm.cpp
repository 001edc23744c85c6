// exprun rm RUN...
#include "base/diagnostic.h"
#include "base/log.h"
#include "control/command/arguments.h"
#include "control/command/stored_runs.h"
#include "control/launch/observed_runs.h"

namespace exprun {
namespace {

// Every reference is looked up before any run is touched.
std::vector<RunRow> find_all(const Store& store, const StoreFolder& folder,
                             const Words& references) {
  if (references.empty()) throw Error("rm: say which run", ExitCode::bad_recipe);
  std::vector<RunRow> runs;
  for (const std::string& reference : references)
    runs.push_back(find_run(store, folder, reference));
  for (const RunRow& run : runs)
    if (run.state == RunState::running)
      throw Error("rm: " + run.folder + ' ' + is_running(run) + "; stop it first");
  return runs;
}

}  // namespace

int run_rm(const Words& words, const Globals& globals) {
  Words references;
  Arguments arguments("rm RUN...",
                      "Removes runs: they are no longer listed, found or continued. exprun restore "
                      "brings them back until exprun gc takes them off the disk.");
  arguments
      .words("RUN...", references, "folders, ids, uids, names (the newest), @last", offer::runs)
      .exit_codes(kReadsRuns)
      .example("exprun rm @last", "the newest run");
  if (!arguments.parse(words)) return 0;
  Store store = open_store_to_change(globals.store);
  for (const RunRow& run : find_all(store, globals.store, references)) {
    store.remove_run(run.id);
    log_info("removed " + run.folder + "; exprun restore " + run.folder + " brings it back");
  }
  return 0;
}

}  // namespace exprun
