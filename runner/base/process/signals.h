// SIGINT, SIGTERM and SIGUSR2 ask for an orderly stop; a second SIGINT or SIGTERM ends the
// process at once with 128 + signal (the same one within 0.3 s is still the first). The first
// request is only noted, for others to poll; the handler acts on a second one itself.
#pragma once

#include "base/diagnostic.h"

namespace exprun {

enum class StopRequest : int { none = 0, interrupt, terminate, preempt };

// From now on, until signals are watched, SIGUSR2 ends the process at once with
// ExitCode::preempted: there is nothing to save yet. Children start without it.
void end_when_preempted();

// From now on a thread of its own takes the three, and the calling one, and those that it starts,
// block them: a handler that interrupts LibTorch's kernels was seen to corrupt memory. Call once,
// from main, before anything computes.
void watch_stop_signals();

// The first request so far.
StopRequest stop_requested();

// Takes the request back if it is an interrupt, where that ended a part of the work only. Returns
// whether it was one.
bool take_interrupt();

// What a process ends with that has stopped as it was asked to.
ExitCode exit_code_of(StopRequest request);

// As if its signal had come; the first request stays.
void request_stop(StopRequest request);

}  // namespace exprun
