#include "control/launch/ranks/restart_detection.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "control/launch/ranks/distributed_command.h"
#include "control/launch/run/which_run.h"
#include "store/run_state.h"

namespace exprun {
namespace {

std::string text_of(const char* value) {
  return value ? value : "";
}

int number_of(const char* value) {
  int number = 0;
  if (value) std::from_chars(value, value + std::strlen(value), number);
  return number;
}

std::string recorded(const nlohmann::json& variables, const char* name) {
  return variables.is_object() ? variables.value(name, "") : "";
}

nlohmann::json recorded_variables(const Store& store, const RunRow& run, int64_t attempt) {
  const auto environment =
      parse_json_or_discard<nlohmann::json>(store.attempt_text(run.id, attempt, "environment"));
  return environment.is_object() ? environment.value("environment", nlohmann::json()) : nullptr;
}

// A folder that an agent of torchrun makes for itself: it keeps the error files of its ranks there.
std::string agent_of(const std::string& error_file) {
  const size_t end = error_file.rfind("/attempt_");
  return end == std::string::npos ? "" : error_file.substr(0, end);
}

}  // namespace

int restarts_before(const Variables& variables) {
  return std::max(number_of(variables("TORCHELASTIC_RESTART_COUNT")),
                  number_of(variables("SLURM_RESTART_COUNT")));
}

bool was_begun_by_this_agent(const Store& store, const RunRow& run, int64_t attempt,
                             const Variables& variables) {
  constexpr const char* kErrorFile = "TORCHELASTIC_ERROR_FILE";
  const std::string agent = agent_of(text_of(variables(kErrorFile)));
  return !agent.empty() &&
         agent == agent_of(recorded(recorded_variables(store, run, attempt), kErrorFile));
}

// torchrun's run id is "none" unless the user gave one; its port tells it from others then.
bool was_begun_in_this_job(const Store& store, const RunRow& run, int64_t attempt,
                           const Variables& variables) {
  const nlohmann::json then = recorded_variables(store, run, attempt);
  if (!then.is_object()) return false;
  const auto same = [&](const char* name) {
    return recorded(then, name) == text_of(variables(name));
  };
  if (variables("SLURM_JOB_ID")) return same("SLURM_JOB_ID");
  return variables("TORCHELASTIC_RUN_ID") && same("TORCHELASTIC_RUN_ID") && same("MASTER_PORT");
}

namespace {

const char* variable(const char* name) {
  return std::getenv(name);
}

bool has_ended_well(RunState state) {
  return state == RunState::finished || state == RunState::diverged || state == RunState::pruned;
}

// An agent of torchrun counts the restarts that are the doing of its own ranks. Of others, too, it
// restarts all of its ranks, and has left the run as it was.
bool was_cut_off_here(const Store& store, const RunRow& run) {
  return !has_ended_well(run.state) && was_begun_by_this_agent(store, run, run.attempt, variable);
}

// A command that always starts a new run has started one before this job was restarted: that one
// is meant. A script may give several such commands.
bool has_begun_its_new_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                           bool restarted) {
  const auto runs = runs_meant(store, folder, request);
  if (runs.empty() || runs.front().command_line != request.command_line) return false;
  return restarted ? was_begun_in_this_job(store, runs.front(), 1, variable)
                   : was_cut_off_here(store, runs.front());
}

}  // namespace

void give_up_lost_machine(Store& store, const RunRow& run, const Variables& variables) {
  if (run.state != RunState::running || !on_another_host(run)) return;
  if (!is_silent(run)) return;
  if (!was_begun_in_this_job(store, run, run.attempt, variables)) return;
  store.give_up(run, "its machine " + run.host + " is gone: the job was restarted elsewhere");
}

Launch launch_detecting_restart(Store& store, const StoreFolder& folder,
                                const LaunchRequest& request, bool always_new) {
  const bool restarted = restarts_before(variable) > 0;
  if (always_new) always_new = !has_begun_its_new_run(store, folder, request, restarted);
  std::optional<Launch> launched;
  await_previous_attempt(restarted, [&] {
    launched = launch(store, folder, request, always_new);
    if (restarted && launched->decision == Decision::refuse_running)
      give_up_lost_machine(store, launched->run, variable);
    return launched->decision != Decision::refuse_running;
  });
  if (launched->decision == Decision::refuse_ended && launched->run.state == RunState::failed &&
      (restarted || was_cut_off_here(store, launched->run)))
    return launch_continuation(store, folder, request, launched->run);
  return *launched;
}

int ended_already(const Launch& launched, const std::string& command) {
  const RunRow& run = launched.run;
  if (launched.decision == Decision::show_result) {
    log_info("nothing to do: this command has made " + run.folder + ", and it is finished");
    return 0;
  }
  throw Error(command + ": this command has made " + run.folder + ", and it is " +
              to_string(run.state));
}

}  // namespace exprun
