// exprun rm RUN...
#include <algorithm>

#include "base/diagnostic.h"
#include "base/log.h"
#include "control/command/arguments.h"
#include "control/command/stored_runs.h"
#include "control/launch/run/which_run.h"

namespace exprun {
namespace {

struct Removable {
  RunRow run;
  HeldRun held;  // until it is removed, so that nobody continues it meanwhile
};

[[noreturn]] void refuse_to_remove(const RunRow& run) {
  if (run.state == RunState::running)
    throw Error("rm: " + run.folder + ' ' + is_running(run) + "; stop it first");
  throw Error("rm: another process is about to continue or remove " + run.folder);
}

// Every reference is looked up, and its run held, before any run is touched.
std::vector<Removable> find_all(const Store& store, const StoreFolder& folder,
                                const Words& references) {
  if (references.empty()) throw Error("rm: say which run", ExitCode::bad_recipe);
  std::vector<Removable> all;
  for (const std::string& reference : references) {
    RunRow run = find_run(store, folder, reference);
    const bool is_known = std::any_of(all.begin(), all.end(),
                                      [&](const auto& other) { return other.run.id == run.id; });
    if (is_known) continue;
    if (run.state == RunState::running) refuse_to_remove(run);
    HeldRun held = hold(folder, run);
    if (!held.is_free) refuse_to_remove(store.run(run.id).value_or(run));
    all.push_back({std::move(run), std::move(held)});
  }
  return all;
}

}  // namespace

int run_rm(const Words& words, const Globals& globals) {
  Words references;
  Arguments arguments("rm RUN...",
                      "Removes runs: they are no longer listed, found or continued. exprun restore "
                      "brings them back until exprun gc deletes them.");
  arguments
      .words("RUN...", references, "folders, ids, uids, names (the newest), @last", offer::runs)
      .exit_codes(kReadsRuns)
      .example("exprun rm @last", "the newest run");
  if (!arguments.parse(words)) return 0;
  Store store = open_store_to_change(globals.store);
  for (const auto& [run, held] : find_all(store, globals.store, references)) {
    store.remove_run(run.id);
    log_info("removed " + run.folder + "; exprun restore " + run.folder + " brings it back");
  }
  return 0;
}

}  // namespace exprun
