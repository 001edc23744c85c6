#include "control/launch/end_state.h"

#include <cstring>

#include "base/exit_code.h"

namespace exprun {

RunState end_state(const ChildEnd& end) {
  if (end.signal) return RunState::killed;
  switch (static_cast<ExitCode>(end.exit_code.value_or(1))) {
    case ExitCode::done:
      return RunState::finished;
    case ExitCode::diverged:
      return RunState::diverged;
    case ExitCode::preempted:
      return RunState::preempted;
    case ExitCode::interrupted_int:
    case ExitCode::interrupted_term:
      return RunState::interrupted;
    default:
      return RunState::failed;
  }
}

bool deserves_restart(const ChildEnd& end) {
  const RunState state = end_state(end);
  return state == RunState::killed ||
         (state == RunState::failed && end.exit_code != static_cast<int>(ExitCode::bad_recipe));
}

int exit_status(const ChildEnd& end) {
  if (end.signal) return 128 + *end.signal;
  const int code = end.exit_code.value_or(1);
  return code == static_cast<int>(ExitCode::lost_ranks) ? static_cast<int>(ExitCode::failed) : code;
}

std::string signal_message(const ChildEnd& end) {
  if (!end.signal) return "";
  const char* const name = ::sigabbrev_np(*end.signal);
  std::string text = "ended by SIG" + std::string(name ? name : std::to_string(*end.signal));
  if (*end.signal == SIGKILL) text += " (kill -9, or out of memory)";
  return text;
}

}  // namespace exprun
