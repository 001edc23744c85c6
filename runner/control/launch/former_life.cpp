#include "control/launch/former_life.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "base/json_text.h"
#include "store/run_state.h"

namespace exprun {
namespace {

constexpr int64_t kSilenceMs = 30'000;  // a living run writes each 5 s

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
bool was_begun_in_this_job(const Store& store, const RunRow& run, const Variables& variables) {
  const auto environment =
      parse_json_or_discard<nlohmann::json>(store.attempt_text(run.id, 1, "environment"));
  if (!environment.is_object() || !environment.contains("environment")) return false;
  const nlohmann::json& then = environment["environment"];
  const auto same = [&](const char* name) {
    return recorded(then, name) == text_of(variables(name));
  };
  if (variables("SLURM_JOB_ID")) return same("SLURM_JOB_ID");
  return variables("TORCHELASTIC_RUN_ID") && same("TORCHELASTIC_RUN_ID") && same("MASTER_PORT");
}

void give_up_lost_machine(Store& store, const RunRow& run) {
  if (run.state != RunState::running || !on_another_host(run)) return;
  if (now_ms() - run.last_beat_ms < kSilenceMs) return;
  store.end_attempt(run.id, RunState::crashed, std::nullopt, std::nullopt,
                    "its machine " + run.host + " is gone: the job was started anew elsewhere");
}

}  // namespace exprun
