// exprun rm RUN...|--sweep SWEEP|--where EXPR
#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "base/diagnostic.h"
#include "base/files/disk_reserve.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/run_values.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/run_lock.h"

namespace exprun {
namespace {

struct Removable {
  RunRow run;
  HeldRun held;  // until it is removed, so that nobody continues it meanwhile
};

[[noreturn]] void refuse_to_remove(const RunRow& run) {
  if (run.state == RunState::running)
    throw Error("rm: " + run.folder + ' ' + is_running(run, "stop it first"));
  throw Error("rm: another process is about to continue or remove " + run.folder);
}

struct Removal {
  Words references;
  std::string sweep;
  Where where;
};

void require_one_sweep(const Store& store, const std::string& reference) {
  constexpr size_t kShownUid = 12;
  const SweepRow meant = store.find_sweep(reference);
  std::string others;
  for (const SweepRow& sweep : store.sweeps())
    if (sweep.name == reference && sweep.id != meant.id)
      others += ", " + std::to_string(sweep.id) + " (" + sweep.uid.substr(0, kShownUid) + ")";
  if (others.empty()) return;
  throw Error("rm: '" + reference + "' could mean several sweeps: " + std::to_string(meant.id) +
                  " (" + meant.uid.substr(0, kShownUid) + ")" + others + "; give a uid",
              ExitCode::bad_recipe);
}

// What is not the sweep's alone to take along: runs that it found, and those that another sweep has
// as trials too. Says so.
void keep_what_is_not_its_own(const Store& store, const StoreFolder& folder,
                              const std::string& sweep, std::vector<ReportedRun>& runs) {
  const SweepRow removed = store.find_sweep(sweep);
  std::map<std::string, Words> kept;  // by why
  std::erase_if(runs, [&](const ReportedRun& reported) {
    std::vector<int64_t> others = store.sweeps_with_run(reported.run.id);
    std::erase(others, removed.id);
    const bool is_found = reported.run.sweep_id != removed.id;
    if (!others.empty())
      kept["also in sweep " + std::to_string(others.front())].push_back(reported.run.folder);
    else if (is_found)
      kept["not begun by the sweep"].push_back(reported.run.folder);
    return is_found || !others.empty();
  });
  for (const auto& [why, folders] : kept)
    log_info("kept " + listed(folders) + ", " + why + "; exprun rm " + joined(folders, " ") +
             store_option(folder.shown) + (folders.size() == 1 ? " removes it" : " removes them"));
}

std::vector<RunRow> runs_to_remove(const Store& store, const StoreFolder& folder,
                                   const Removal& asked) {
  if (asked.references.empty() && asked.sweep.empty() && asked.where.expressions.empty())
    throw Error("rm: say which runs: by name, --sweep SWEEP or --where EXPR", ExitCode::bad_recipe);
  if (!asked.sweep.empty()) require_one_sweep(store, asked.sweep);
  auto runs = all_runs(store, folder,
                       runs_to_change("rm", store, folder, asked.references, asked.sweep,
                                      Store::Among::kept, /*has_where=*/true));
  asked.where.keep_matching(store, runs);
  const bool any = !runs.empty();
  if (!asked.sweep.empty()) keep_what_is_not_its_own(store, folder, asked.sweep, runs);
  const bool are_kept = any && runs.empty();
  if (runs.empty()) log_info(are_kept ? "rm: nothing is removed" : "rm: no run matches");
  std::vector<RunRow> rows;
  for (ReportedRun& reported : runs) rows.push_back(std::move(reported.run));
  return rows;
}

// A run's lock is a file that stays open until the last run is removed.
void allow_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Between the listing and the lock it may have been continued, even to its end.
bool is_unchanged(const Store& store, const RunRow& run) {
  const auto now = store.run(run.id);
  return now && !now->removed_ms && now->attempt == run.attempt && now->state == run.state;
}

// Every run is held before any is touched.
std::vector<Removable> held(const Store& store, const StoreFolder& folder,
                            std::vector<RunRow> runs) {
  std::vector<Removable> all;
  for (RunRow& run : runs) {
    if (run.state == RunState::running) refuse_to_remove(run);
    HeldRun held = hold_ended_run(folder, run);
    if (!held.is_free) refuse_to_remove(store.run(run.id).value_or(run));
    if (!is_unchanged(store, run))
      throw Error("rm: another process has continued or removed " + run.folder +
                  " meanwhile; run the same command again");
    all.push_back({std::move(run), std::move(held)});
  }
  return all;
}

}  // namespace

int run_rm(const Words& words, const Globals& globals) {
  Removal asked;
  Arguments arguments("rm RUN...|--sweep SWEEP|--where EXPR",
                      "Removes runs: they are no longer listed, found or continued. exprun restore "
                      "can bring them back until exprun gc deletes them.");
  arguments
      .words("RUN...", asked.references,
             "ids, uids, folders, unique names, @last, @best, or 'mine-*'", offer::runs)
      .option("--sweep", "SWEEP", asked.sweep,
              std::string("the runs of a sweep: ") + kSweepHelp +
                  "; except those also in another sweep and those that it did not begin",
              offer::sweeps);
  asked.where.declare(arguments);
  arguments.exit_codes(kReadsRuns)
      .example("exprun rm @last", "the newest run")
      .example("exprun rm 'mine-*'", "all runs whose names or folders begin with mine-")
      .example("exprun rm --where 'state=\"failed\"'", "all that failed");
  if (!arguments.parse(words)) return 0;
  const UsedDiskReserve reserve(globals.store.reserve());
  Store store = open_store_to_change(globals.store);
  const auto runs = runs_to_remove(store, globals.store, asked);
  allow_open_files();
  for (const auto& [run, held] : held(store, globals.store, runs)) {
    store.remove_run(run.id);
    log_info("removed " + run.folder + "; exprun restore " + globals.store.words_for(run.folder) +
             " brings it back");
  }
  return 0;
}

}  // namespace exprun
