// exprun restore RUN...|--sweep SWEEP|--where EXPR
#include <algorithm>

#include "base/diagnostic.h"
#include "base/log.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/run_values.h"
#include "control/command/stored/stored_runs.h"

namespace exprun {
namespace {

struct Restoration {
  Words references;
  std::string sweep;
  Where where;
};

void add_matching(std::vector<RunRow>& rows, const Store& store, const std::string& pattern) {
  auto removed = store.removed_runs();
  std::erase_if(removed, [&](const RunRow& run) { return !matches(pattern, run); });
  if (removed.empty())
    throw Error("restore: no removed run matches '" + pattern + "'", ExitCode::no_such_run);
  for (RunRow& run : removed) {
    const bool is_known = std::any_of(rows.begin(), rows.end(),
                                      [&](const RunRow& other) { return other.id == run.id; });
    if (!is_known) rows.push_back(std::move(run));
  }
}

// Of the runs that are named, or of a sweep, or of all that are removed.
std::vector<RunRow> runs_to_restore(const Store& store, const StoreFolder& folder,
                                    const Restoration& asked) {
  if (!asked.sweep.empty() && !asked.references.empty())
    throw Error("restore: give either names of runs or --sweep, not both", ExitCode::bad_recipe);
  std::vector<RunRow> rows;
  if (asked.references.empty()) rows = store.removed_runs();
  for (const std::string& reference : asked.references) {
    if (is_pattern(reference)) {
      add_matching(rows, store, reference);
      continue;
    }
    const auto meant = store.runs_meant_by(reference, Store::Among::removed);
    auto named = store.removed_runs();
    std::erase_if(named, [&](const RunRow& run) { return run.name != reference; });
    require_one_run("restore", reference, meant, named);
    rows.push_back(meant.front());
  }
  if (!asked.sweep.empty()) {
    const int64_t sweep = store.find_sweep(asked.sweep).id;
    std::erase_if(rows, [&](const RunRow& run) {
      const std::vector<int64_t> sweeps = store.sweeps_with_run(run.id);
      return std::find(sweeps.begin(), sweeps.end(), sweep) == sweeps.end();
    });
  }
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
