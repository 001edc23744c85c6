// exprun restore RUN...|--sweep SWEEP|--where EXPR
#include "base/diagnostic.h"
#include "base/log.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/run_values.h"
#include "control/command/stored/stored_runs.h"

namespace exprun {
namespace {

struct Restoration {
  Words references;
  std::string sweep;
  Where where;
};

// Of the runs that are named, or of a sweep, or of all that are removed.
std::vector<RunRow> runs_to_restore(const Store& store, const StoreFolder& folder,
                                    const Restoration& asked) {
  auto rows = runs_to_change("restore", store, folder, asked.references, asked.sweep,
                             Store::Among::removed, /*has_where=*/true);
  if (asked.where.expressions.empty()) return rows;
  auto runs = all_runs(store, folder, std::move(rows));
  asked.where.keep_matching(store, runs);
  std::vector<RunRow> matching;
  for (ReportedRun& reported : runs) matching.push_back(std::move(reported.run));
  return matching;
}

}  // namespace

int run_restore(const Words& words, const Globals& globals) {
  Restoration asked;
  Arguments arguments("restore RUN...|--sweep SWEEP|--where EXPR", "Restores removed runs.");
  arguments
      .words(
          "RUN...", asked.references,
          "ids, uids, folders or unique names of removed runs (exprun ls --removed), or 'mine-*'",
          offer::removed_runs)
      .option("--sweep", "SWEEP", asked.sweep,
              std::string("the removed runs of a sweep: ") + kSweepHelp, offer::sweeps);
  asked.where.declare(arguments);
  arguments.exit_codes(kReadsRuns)
      .example("exprun restore 1", "the run with id 1")
      .example("exprun restore --where 'lr<1e-3'", "all removed runs with a low learning rate");
  if (!arguments.parse(words)) return 0;
  if (asked.references.empty() && asked.sweep.empty() && asked.where.expressions.empty())
    throw Error(
        "restore: say which runs: by name, --sweep SWEEP or --where EXPR; `exprun ls --removed` "
        "lists the runs that can be restored",
        ExitCode::bad_recipe);
  Store store = open_store_to_change(globals.store);
  const std::vector<RunRow> runs = runs_to_restore(store, globals.store, asked);
  if (runs.empty()) log_info("restore: no removed run matches");
  for (const RunRow& run : runs) {
    if (store.restore_run(run.id)) {
      log_info("restored " + run.folder);
      continue;
    }
    const std::string said = "restore: exprun gc has begun to delete " + run.folder +
                             " from disk; run exprun gc again to finish that";
    if (!asked.references.empty()) throw Error(said);
    log_warning(said);
  }
  return 0;
}

}  // namespace exprun
