// exprun restore RUN...
#include "base/diagnostic.h"
#include "base/log.h"
#include "control/command/arguments.h"
#include "control/command/stored_runs.h"

namespace exprun {

int run_restore(const Words& words, const Globals& globals) {
  Words references;
  Arguments arguments("restore RUN...", "Restores removed runs.");
  arguments
      .words("RUN...", references, "folders, ids or uids of removed runs (exprun ls --removed)",
             offer::removed_runs)
      .exit_codes(kReadsRuns)
      .example("exprun restore 1", "the run with id 1");
  if (!arguments.parse(words)) return 0;
  if (references.empty())
    throw Error("restore: say which run; `exprun ls --removed` lists the runs that can be restored",
                ExitCode::bad_recipe);
  Store store = open_store_to_change(globals.store);
  for (const std::string& reference : references) {
    const RunRow run = store.find_run(reference, Store::Among::removed);
    if (!store.restore_run(run.id))
      throw Error("restore: exprun gc has begun to take " + run.folder +
                  " off the disk; run exprun gc again to finish that");
    log_info("restored " + run.folder);
  }
  return 0;
}

}  // namespace exprun
