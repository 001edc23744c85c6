// Rank 0's command, when it does not train, or no more: the others must not wait for it.
#pragma once

#include <string>

#include "control/launch/ranks/joined_rank.h"

namespace exprun {

// The others, who wait for rank 0 or are just coming, end with this exit code, if they come in
// time: within 5 s, but ten minutes where their launcher ends this process if they do not live.
// `why`: of a failure, for people and for the files in which torchrun looks for it. Never throws.
void dismiss_others(const JoinedRank& joined, int exit_code, const std::string& why);

// The same for those of other machines who have trained along, and are started again when they have
// noticed that rank 0 is gone.
void dismiss_restarted(const JoinedRank& joined, int exit_code, const std::string& why);

// The same if SIGUSR2, SIGTERM or SIGINT ends this process before its trainer has been started: it
// becomes the one that dismisses them, and ends with the signal's exit code.
void dismiss_others_when_stopped(const JoinedRank& joined);

// From now on these signals do what they did before: a trainer takes them, and tells the others, or
// one that dismisses them is under way.
void leave_signals_to_trainer();

}  // namespace exprun
