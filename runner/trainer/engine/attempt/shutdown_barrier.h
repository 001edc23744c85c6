// How the ranks end together. When the run is trained, none leaves before rank 0 has saved, which
// may take longer than an exchange between them, and rank 0, which serves the rendezvous, leaves
// last. When it is not, rank 0 sends the others a shutdown notice.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "dist/rendezvous.h"

namespace exprun {

// As rank 0, when all is saved: lets the others leave, and returns when they have confirmed that or
// some seconds have passed. A rank that is lost by now is a warning. Never throws.
void release_others(Rendezvous& rendezvous);

// As any other rank: waits until rank 0 releases it. Throws Error when the rendezvous is lost or
// has been silent for `silence`, which tells of rank 0 where its process serves the rendezvous.
// Where an agent of torchrun serves it, only the user can stop a rank 0 that hangs while it saves.
// The process must end soon after this returns, so nothing slow may follow.
void await_release(Rendezvous& rendezvous, std::chrono::milliseconds silence);

// What rank 0 sends the others when it does not train.
struct ShutdownNotice {
  ExitCode code = ExitCode::done;  // with which they end
  std::string why;  // the failure, if there was one; it goes into the error files of torchrun
};

// As rank 0, which does not train: returns when all others have acknowledged the notice. Throws
// Error when one does not in time.
void shut_down(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice);

// As rank 0, which has begun the handshake: returns when the ranks that have joined and those of
// its own machine have acknowledged the notice, or after some seconds; others may still be
// starting.
void cancel_start(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice);

// As rank 0, when a rank cannot take part: throws Error with the problem, and so do the others.
[[noreturn]] void refuse_start(Rendezvous& rendezvous, const std::string& problem);

// On a rank above 0: the notice in rank 0's message, if it is one.
std::optional<ShutdownNotice> shutdown_notice_in(const nlohmann::json& message);

// On a rank above 0: acknowledges the notice, and keeps the launcher from restarting this rank.
// Returns the exit code.
ExitCode acknowledge_shutdown(Rendezvous& rendezvous, const ShutdownNotice& shutdown_notice);

}  // namespace exprun
