// Who still answers when an exchange between the ranks has failed: the others wait in it, or have
// failed in it too, and say so at the rendezvous; who says nothing is the cause.
#pragma once

#include <string>

#include "dist/rendezvous.h"

namespace exprun {

// "; rank 1: <why it failed>" of a rank that has said so, else "; rank 1 does not answer: it hangs,
// or is gone", or nothing where all answer. Takes three seconds at most; never throws.
std::string roll_call(const c10::intrusive_ptr<c10d::Store>& store, const RankPlace& place);

// Before this rank ends for a reason of its own: the others, whom it leaves, will tell it. Takes a
// second at most; never throws.
void say_why(const Rendezvous& rendezvous, const std::string& reason);

}  // namespace exprun
