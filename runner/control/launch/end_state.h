// What the end of a trainer says about its run.
#pragma once

#include "control/launch/process/child.h"
#include "store/rows.h"

namespace exprun {

// Exit codes are the trainer's contract (base/exit_code.h); death by a signal is "killed".
RunState end_state(const ChildEnd& end);

// Whether all ranks may be started again. A diverged run would diverge again, a wrong recipe is
// wrong again.
bool deserves_restart(const ChildEnd& end);

// What the launcher answers to its shell: the same code, or 128 + signal.
int exit_status(const ChildEnd& end);

// For people: "ended by SIGKILL (out of memory, or kill -9)"; empty for an exit.
std::string signal_message(const ChildEnd& end);

}  // namespace exprun
