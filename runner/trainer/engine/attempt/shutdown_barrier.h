// How the ranks end together when the run is trained: none leaves before rank 0 has saved, which
// may take longer than an exchange between them, and rank 0, which serves the rendezvous, is the
// last.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "dist/rendezvous.h"

namespace exprun {

// As rank 0, when all is saved: the others leave. It returns when they have said so, or are late;
// that one is lost by now is a warning. Never throws.
void release_others(Rendezvous& rendezvous);

// As any other rank. Throws Error when the rendezvous is lost, or has been silent for so long: that
// is rank 0 where its process serves it. Where an agent of torchrun does, who stops a rank 0 that
// hangs while it saves is that agent's user. Who lives on for long after it is killed, so nothing
// that takes its time may follow.
void await_release(Rendezvous& rendezvous, std::chrono::milliseconds silence);

// What rank 0 tells the others when it does not train.

// With what exit code they end, and the failure that is the cause, if there was one: it goes into
// the files in which torchrun looks for that.
struct ShutdownNotice {
  ExitCode code = ExitCode::done;
  std::string why;
};

// As rank 0, when it does not train: returns when all others know. Throws Error when they do not
// come in time.
void dismiss(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice);

// As rank 0, when it would have trained: those who have come know it then, and those of its own
// machine; others may still be on their way.
void call_off(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice);

// As rank 0, when a rank cannot take part: throws Error that says why, and so do the others.
[[noreturn]] void refuse(Rendezvous& rendezvous, const std::string& problem);

// On a rank above 0: the dismissal that rank 0's word is, if it is one.
std::optional<ShutdownNotice> shutdown_notice_in(const nlohmann::json& word);

// Says that this rank has heard it, and to its launcher that it is not to be restarted. Returns
// the exit code.
ExitCode leave(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice);

}  // namespace exprun
