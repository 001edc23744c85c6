// The processes of one run, from their start to the end of the last of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "control/launch/process/child_process.h"

namespace exprun {

// How a group ended: by the child that was the cause, or as its first child did when none failed.
struct GroupEnd {
  size_t child = 0;
  ChildEnd end;
  bool was_told_to_stop = false;  // a signal was passed on
  bool stopped_by_sweep = false;  // that signal was SIGUSR1
};

// How long the others live on after the first that ended.
struct GroupPatience {
  // Longer than ranks take to find out which one is the cause (Membership::cause).
  std::chrono::milliseconds behind_failure{std::chrono::seconds(8)};
  std::chrono::milliseconds behind_loss{std::chrono::seconds(2)};  // who lost them has waited
  std::chrono::milliseconds behind_success{std::chrono::minutes(1)};
};

// Starts all and waits for all. Every stop signal is passed on, a hang-up and SIGUSR1 as SIGTERM,
// and Ctrl-Z pauses all. When one has ended, the others have some time to do so too and are killed
// then. The cause is looked for in this order: a death by a signal, a failure, the loss of the
// others; of equal ones it is the first child's. `all_started` is called once. Throws Error when
// one cannot be started; none runs then.
GroupEnd run_children(
    const std::vector<ChildCommand>& commands, const ForwardedSignals& signals,
    const std::function<void()>& all_started = [] {}, const GroupPatience& patience = {});

}  // namespace exprun
