// Who still answers when an exchange between the ranks has failed. In a ring of ranks only the
// neighbours of one that is gone notice it; all others learn it here.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "dist/rank_place.h"

namespace c10d {
class Store;
}

namespace exprun {

// One a rank, of those that have met. A thread of its own looks some times a second at the
// rendezvous whether a rank calls the roll, answers for this rank, whatever that waits for, and
// hears who else answers: who says nothing is the cause.
class RollCall {
 public:
  RollCall(c10::intrusive_ptr<c10d::Store> store, const RankPlace& place);
  ~RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  // Why no further exchange can succeed: another rank has called the roll, or the rendezvous is
  // lost. Else nothing; waits for nobody.
  std::string trouble() const;

  // While one lives this rank waits for the others, who cannot be waiting for it.
  class Waiting {
   public:
    explicit Waiting(RollCall& roll_call);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    RollCall& roll_call_;
  };

  // When an exchange has failed here or there is trouble: calls the roll, if nobody has, and says
  // "; rank 1: <why it failed>" of a rank that has said so, else "; rank 1 does not answer: it
  // hangs, or is gone", else which ranks live and have not come to the exchange; nothing where all
  // wait for each other. Where it cannot be known it says that. Takes five seconds at most; never
  // throws.
  std::string cause();

  // Before this rank ends for a reason of its own: the others, whom it leaves, will tell it. Takes
  // a second at most; never throws.
  void say_why(const std::string& reason);

 private:
  struct State;
  std::shared_ptr<State> state_;  // with the thread, which a rendezvous that hangs may hold
};

}  // namespace exprun
