#include "control/launch/run/observed_run.h"

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/format_units.h"
#include "base/log.h"
#include "store/run_state.h"

namespace exprun {
namespace {

bool seems_over(const StoreFolder& folder, const RunRow& run) {
  return run.state == RunState::running && as_observed(run, folder.path).state != RunState::running;
}

std::string launcher_of(const RunRow& run) {
  return "process " + std::to_string(run.pid) +
         (in_another_pid_namespace(run) ? " of another container on " : " on ") + run.host;
}

std::string launcher_is_gone(const RunRow& run) {
  return "its launcher (" + launcher_of(run) + ") is gone, and its trainer saves";
}

}  // namespace

RunRow observed(const Store& store, const StoreFolder& folder, RunRow run) {
  if (!seems_over(folder, run)) return run;
  // It may have ended after the row was read: an end is recorded before the lock is let go.
  return as_observed(store.run(run.id).value_or(run), folder.path);
}

RunRow reconciled(Store& store, const RunRow& run) {
  if (run.state != RunState::running) return run;
  store.reconcile_state(run);
  return store.run(run.id).value_or(run);
}

bool has_lost_launcher(const RunRow& run) {
  return run.state == RunState::running && !on_another_host(run) &&
         !in_another_pid_namespace(run) && !launcher_lives(run);
}

void say_if_launcher_is_lost(const RunRow& run) {
  if (has_lost_launcher(run))
    log_info("waiting until " + run.folder + " has ended: " + launcher_is_gone(run));
}

RunRow ended_without_launcher(Store& store, RunRow run) {
  constexpr std::chrono::milliseconds kBetweenLooks{100};
  const auto late = std::chrono::steady_clock::now() + kPatienceWithTrainer;
  say_if_launcher_is_lost(run);
  while (has_lost_launcher(run) && std::chrono::steady_clock::now() < late) {
    std::this_thread::sleep_for(kBetweenLooks);
    run = reconciled(store, run);
  }
  return run;
}

std::string is_ending(const RunRow& run) {
  return "is ending: " + launcher_is_gone(run);
}

bool is_elsewhere(const RunRow& run) {
  return on_another_host(run) || in_another_pid_namespace(run);
}

std::string is_running(const RunRow& run, const std::string& remedy) {
  if (has_lost_launcher(run)) return is_ending(run) + "; run the same command again in a moment";
  const std::string where = launcher_of(run);
  if (!on_another_host(run)) return "is running (" + where + "); " + remedy;
  return "may be running (" + where + ", last seen alive " + age(run.last_beat_ms, now_ms()) +
         "); " + remedy + ". If " + run.host + " is gone: exprun stop " + run.folder + " --lost";
}

}  // namespace exprun
