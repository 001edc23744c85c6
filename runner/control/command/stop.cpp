// exprun stop RUN...
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/log.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/run_lock.h"
#include "control/launch/run/run_words.h"
#include "control/sweep/sweep_processes.h"
#include "store/run_state.h"

namespace exprun {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

std::vector<RunRow> running(const Store& store, const StoreFolder& folder) {
  std::vector<RunRow> runs;
  for (RunRow& row : store.runs()) {
    RunRow run = observed(store, folder, std::move(row));
    if (run.state == RunState::running) runs.push_back(std::move(run));
  }
  return runs;
}

// The one of this name that runs. Throws Error where several do.
std::optional<RunRow> running_run(const Store& store, const StoreFolder& folder,
                                  const std::string& name) {
  std::vector<RunRow> runs = running(store, folder);
  std::erase_if(runs, [&](const RunRow& run) { return run.name != name; });
  if (runs.size() > 1)
    throw Error("stop: " + std::to_string(runs.size()) + " runs named '" + name +
                    "' are running; give their folders (exprun ls --where state=running)",
                ExitCode::bad_recipe);
  return runs.empty() ? std::nullopt : std::optional(runs.front());
}

std::vector<RunRow> meant(const Store& store, const StoreFolder& folder,
                          const std::string& reference) {
  if (!is_pattern(reference)) {
    const RunRow run = find_run(store, folder, reference);
    require_one_meaning("stop", store, reference, run);
    const bool is_named = word_in_store(store, folder, reference, Store::Among::kept) == run.name;
    return {is_named ? running_run(store, folder, run.name).value_or(run) : run};
  }
  std::vector<RunRow> runs = running(store, folder);
  std::erase_if(runs, [&](const RunRow& run) { return !matches(reference, run); });
  if (runs.empty())
    throw Error("stop: no running run matches '" + reference + "'", ExitCode::no_such_run);
  return runs;
}

std::string why_not_running(const RunRow& run) {
  return run.folder + " is not running: it " +
         (run.state == RunState::finished ? "is finished" : "ended") + " at step " +
         std::to_string(run.last_step) +
         (run.state == RunState::finished ? "" : std::string(" (") + to_string(run.state) + ")");
}

void require_running(const RunRow& run) {
  if (run.state != RunState::running) throw Error("stop: " + why_not_running(run));
}

void require_in_reach(const RunRow& run) {
  if (run.state == RunState::running && is_elsewhere(run))
    throw Error("stop: " + run.folder + ' ' +
                is_running(run, on_another_host(run) ? "stop it on " + run.host : "stop it there"));
}

void require_lost(const RunRow& run) {
  require_running(run);
  const std::string lives = "stop: " + run.folder + " is not lost: ";
  if (!on_another_host(run))
    throw Error(lives + "it " +
                is_running(run, is_elsewhere(run) ? "stop it there" : "stop it without --lost"));
  if (!is_silent(run))
    throw Error(lives + "it was seen alive on " + run.host +
                " less than 30 s ago; try again when it has been silent for that long");
}

// Each once, and all as `require` wants them, before the first is told.
std::vector<RunRow> all_meant(const Store& store, const StoreFolder& folder,
                              const Words& references, void (*require)(const RunRow&)) {
  std::vector<RunRow> all;
  for (const std::string& reference : references)
    for (RunRow& run : meant(store, folder, reference)) {
      require(run);
      const bool is_known = std::any_of(all.begin(), all.end(),
                                        [&](const RunRow& other) { return other.id == run.id; });
      if (!is_known) all.push_back(std::move(run));
    }
  return all;
}

// Leaves out, with a warning, those that have ended already: they do not keep the others running.
// Whether none had. Throws Error where all have.
bool keep_running(std::vector<RunRow>& runs) {
  const auto has_ended = [](const RunRow& run) { return run.state != RunState::running; };
  if (!runs.empty() && std::ranges::all_of(runs, has_ended)) require_running(runs.front());
  for (const RunRow& run : runs)
    if (has_ended(run)) log_warning("stop: " + why_not_running(run));
  return std::erase_if(runs, has_ended) == 0;
}

// The launcher passes it on; one that is suspended (Ctrl-Z) goes on, to save. False where there is
// none to tell: its trainer is ending by itself.
bool tell_to_end(const RunRow& run) {
  if (!launcher_lives(run)) return false;
  for (const int signal : {SIGTERM, SIGCONT})
    if (::kill(static_cast<pid_t>(run.pid), signal) != 0 && errno != ESRCH)
      throw file_error("stop", run.folder);
  return true;
}

RunRow awaited_end(const Store& store, const StoreFolder& folder, RunRow run) {
  const auto late = std::chrono::steady_clock::now() + kPatienceWithTrainer;
  run = observed(store, folder, store.run(run.id).value_or(run));
  say_if_launcher_is_lost(run);
  while (run.state == RunState::running) {
    if (has_lost_launcher(run) && std::chrono::steady_clock::now() > late)
      throw Error("stop: " + run.folder + ' ' + is_running(run, ""));
    std::this_thread::sleep_for(kBetweenLooks);
    run = observed(store, folder, store.run(run.id).value_or(run));
  }
  return run;
}

// Whether it has ended as it was told to.
bool say_end(const StoreFolder& folder, const RunRow& run) {
  const std::string at = " at step " + std::to_string(run.last_step);
  if (run.state == RunState::finished) {
    log_info(run.folder + " finished" + at);
  } else if (run.state == RunState::interrupted || run.state == RunState::preempted) {
    log_info(run.folder +
             (run.last_step > 0 ? " is saved and ended" + at : " ended before a step") +
             "; exprun resume " + folder.words_for(run.folder) + " continues it");
  } else {
    log_warning(run.folder + " ended" + at + ", " + to_string(run.state) +
                (run.message.empty() ? "" : ": " + run.message));
    return false;
  }
  return true;
}

// Those that go on, of which one of the runs is a trial.
std::set<int64_t> sweeps_under_way(const Store& store, const StoreFolder& folder,
                                   const std::vector<RunRow>& runs) {
  std::set<int64_t> sweeps;
  for (const SweepRow& sweep : store.sweeps())
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const RunRow& run) { return run.sweep_id == sweep.id; }) &&
        !sweep_processes(folder, sweep.uid).empty())
      sweeps.insert(sweep.id);
  return sweeps;
}

// Its lock, which many network file systems share between hosts, tells of a process that lives.
void record_as_lost(Store& store, const StoreFolder& folder, const RunRow& run) {
  const HeldRun held = hold_ended_run(folder, run);
  if (!held.is_free)
    throw Error("stop: " + run.folder + " is not lost: a process holds its lock, " +
                folder.run(run.folder).lock().string());
  if (!store.give_up(run, "its machine, " + run.host + ", is gone"))
    throw Error("stop: " + run.folder + " has ended meanwhile");
  log_info(run.folder + " is recorded as crashed at step " + std::to_string(run.last_step) +
           "; exprun resume " + folder.words_for(run.folder) + " continues it");
}

std::vector<std::string> offered_running(const Typed& typed) {
  const Store store = open_store(typed.store);
  std::vector<std::string> names;
  for (const RunRow& run : running(store, typed.store)) names.push_back(run.folder);
  return names;
}

}  // namespace

int run_stop(const Words& words, const Globals& globals) {
  Words references;
  bool all = false, no_wait = false, lost = false;
  Arguments arguments("stop RUN...",
                      "Stops runs: each finishes its current step, saves a checkpoint and ends. "
                      "Waits until they have ended.");
  arguments
      .words("RUN...", references,
             "ids, uids, folders, names (the run with that name that is running), @last, @best, or "
             "'mine-*'",
             offered_running)
      .flag("--all", all, "all runs in the store that are running on this machine")
      .flag("--no-wait", no_wait, "return without waiting")
      .flag("--lost", lost,
            "the machine of the runs is gone: record that they crashed, so that they can be "
            "continued here")
      .note(
          "A second stop while a run is saving ends it at once, like a second Ctrl-C. Stopping a "
          "trial stops its sweep; the same sweep command continues it.")
      .exit_codes(kReadsRuns)
      .example("exprun stop --all", "every run on this machine")
      .example("exprun stop 'mine-*' --no-wait", "all matching runs, without waiting");
  if (!arguments.parse(words)) return 0;
  if (lost && (all || references.empty()))
    throw Error("stop: say which runs are lost, by name", ExitCode::bad_recipe);
  if (lost && no_wait)
    throw Error("stop: --lost waits for no end; leave out --no-wait", ExitCode::bad_recipe);
  if (references.empty() != all)
    throw Error(all ? "stop: --all leaves no run to name" : "stop: say which run, or --all",
                ExitCode::bad_recipe);
  if (lost) {
    Store store = open_store_to_change(globals.store);
    for (const RunRow& run : all_meant(store, globals.store, references, require_lost))
      record_as_lost(store, globals.store, run);
    return 0;
  }
  const Store store = open_store(globals.store);
  std::vector<RunRow> runs = all_meant(store, globals.store, references, require_in_reach);
  bool as_told = keep_running(runs);
  if (all) runs = running(store, globals.store);
  std::erase_if(runs, [&](const RunRow& run) { return all && is_elsewhere(run); });
  if (runs.empty()) log_info("no run is running here");
  const std::set<int64_t> sweeps = sweeps_under_way(store, globals.store, runs);
  int64_t asked = 0;
  for (const RunRow& run : runs) {
    const bool is_asked = tell_to_end(run);
    asked += is_asked ? 1 : 0;
    if (no_wait && !is_asked) log_info(run.folder + ' ' + is_ending(run));
  }
  for (const int64_t sweep : sweeps)
    log_info("sweep " + std::to_string(sweep) +
             " stops with its trial; the command that began it continues both");
  if (no_wait && asked > 0) log_info("asked " + pluralize(asked, "run") + " to stop");
  if (no_wait) return as_told ? 0 : static_cast<int>(ExitCode::failed);
  for (const RunRow& run : runs)
    as_told &= say_end(globals.store, awaited_end(store, globals.store, run));
  return as_told ? 0 : static_cast<int>(ExitCode::failed);
}

}  // namespace exprun
