#include "control/launch/which_run.h"

namespace exprun {
namespace {

Decision decision_for(RunState state) {
  switch (state) {
    case RunState::running:
      return Decision::refuse_running;
    case RunState::finished:
      return Decision::show_result;
    case RunState::interrupted:
    case RunState::preempted:
    case RunState::killed:
    case RunState::crashed:
      return Decision::continue_run;
    case RunState::failed:
    case RunState::diverged:
    case RunState::pruned:
      break;
  }
  return Decision::refuse_ended;
}

}  // namespace

bool needs_a_trainer(Decision decision) {
  return decision == Decision::start_new || decision == Decision::continue_run;
}

WhichRun which_run(const std::vector<RunRow>& same, bool always_new) {
  if (always_new || same.empty()) return {};
  return {decision_for(same.front().state), same.front()};
}

}  // namespace exprun
