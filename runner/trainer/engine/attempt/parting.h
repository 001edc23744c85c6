// How the ranks end together when the run is trained: none leaves before rank 0 has saved, which
// may take longer than an exchange between them, and rank 0, which serves the rendezvous, is the
// last.
#pragma once

#include <chrono>

#include "dist/rendezvous.h"

namespace exprun {

// As rank 0, when all is saved: the others leave. It returns when they have said so, or are late;
// that one is lost by now is a warning. Never throws.
void release_others(Rendezvous& rendezvous);

// As any other rank. Throws Error when the rendezvous is lost, or has been silent for so long: that
// is rank 0 where its process serves it. Where an agent of torchrun does, who stops a rank 0 that
// hangs while it saves is that agent's user. Who lives on for long behind it is killed, so nothing
// that takes its time may follow.
void await_release(Rendezvous& rendezvous, std::chrono::milliseconds silence);

}  // namespace exprun
