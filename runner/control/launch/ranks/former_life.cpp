#include "control/launch/ranks/former_life.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "base/json_text.h"
#include "control/launch/observed_runs.h"
#include "control/launch/ranks/joining.h"
#include "store/run_state.h"

namespace exprun {
namespace {

constexpr int64_t kSilenceMs = 30'000;  // while its steps are recorded, a run writes each 5 s

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

}  // namespace

int lives_before(const Variables& variables) {
  return std::max(number_of(variables("TORCHELASTIC_RESTART_COUNT")),
                  number_of(variables("SLURM_RESTART_COUNT")));
}

// torchrun's run id is "none" unless the user gave one; its port tells it from others then.
bool was_begun_in_this_job(const Store& store, const RunRow& run, int64_t attempt,
                           const Variables& variables) {
  const auto environment =
      parse_json_or_discard<nlohmann::json>(store.attempt_text(run.id, attempt, "environment"));
  if (!environment.is_object() || !environment.contains("environment")) return false;
  const nlohmann::json& then = environment["environment"];
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

// A command that always starts a new run has started one in an earlier life of this job: that one
// is meant. A script may give several such commands.
bool has_begun_its_new_run(Store& store, const LaunchRequest& request) {
  const auto name = request.resolved.section("run").get<std::string>("name");
  const auto runs = settled_runs(store, name, request.resolved.hash());
  return !runs.empty() && runs.front().command_line == request.command_line &&
         was_begun_in_this_job(store, runs.front(), 1, variable);
}

}  // namespace

void give_up_lost_machine(Store& store, const RunRow& run, const Variables& variables) {
  if (run.state != RunState::running || !on_another_host(run)) return;
  if (now_ms() - run.last_beat_ms < kSilenceMs) return;
  if (!was_begun_in_this_job(store, run, run.attempt, variables)) return;
  store.give_up(run, "its machine " + run.host + " is gone: the job was started anew elsewhere");
}

Launch launch_in_this_life(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                           bool always_new) {
  const bool restarted = lives_before(variable) > 0;
  if (restarted && always_new) always_new = !has_begun_its_new_run(store, request);
  std::optional<Launch> launched;
  await_former_life(restarted, [&] {
    launched = launch(store, folder, request, always_new);
    if (restarted && launched->decision == Decision::refuse_running)
      give_up_lost_machine(store, launched->run, variable);
    return launched->decision != Decision::refuse_running;
  });
  if (restarted && launched->decision == Decision::refuse_ended &&
      launched->run.state == RunState::failed)
    return launch_again(store, folder, request, launched->run);
  return *launched;
}

}  // namespace exprun
