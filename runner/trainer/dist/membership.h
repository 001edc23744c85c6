// Who still answers when an exchange between the ranks has failed, or a rank gives no sign of life
// before the first. In a ring of ranks only the neighbours of one that is gone notice it; all
// others learn it here.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "dist/failure.h"
#include "dist/rank_place.h"

namespace c10d {
class Store;
}

namespace exprun {

// One a rank, of those that have met, from then on: until all_exchange() a rank without one is
// taken to be gone. A thread of its own looks at the rendezvous some times a second: when a rank
// asks all ranks to report, it answers for this one, whatever that waits for, and reads the answers
// of the others. A rank that does not answer is the cause.
class Membership {
 public:
  Membership(c10::intrusive_ptr<c10d::Store> store, const RankPlace& place);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Exchanges begin. From here on a rank that waits learns within seconds that a process has ended,
  // and a minute later that a machine is lost: also that of a rendezvous that has been silent for
  // so long and where nobody listens. A rank that is stopped is not gone.
  void all_exchange(std::chrono::milliseconds silence = std::chrono::minutes(1));

  // There are no more exchanges: a rendezvous that does not answer for so long, and for some
  // seconds at least, is trouble again.
  void all_part(std::chrono::milliseconds silence);

  // Why no further exchange can succeed: another rank has asked all to report, or the rendezvous is
  // lost or has not answered for too long. Else nothing; waits for nobody, but a second where the
  // machine of a silent rendezvous does not answer.
  std::string trouble() const;

  // Throws Error where there is trouble: "dist: <what>: <trouble>".
  void require_no_trouble(const std::string& what) const;

  // What the function returns, which waits for others and looks at times whether there is trouble.
  // Throws Error: as dist_call() does, with the cause.
  template <class Function>
  auto while_waiting(const std::string& what, Function&& function) {
    const Waiting waiting(*this);
    try {
      return dist_call(what, std::forward<Function>(function));
    } catch (const Error& error) {
      throw Error(error.what() + cause(), error.code());
    }
  }

  // The same of a function that cannot look: in a thread of its own, which is left behind when
  // there is trouble or the time has passed. It must hold all that it needs.
  template <class Function>
  auto while_waiting(const std::string& what, std::chrono::milliseconds patience,
                     Function function) {
    return while_waiting(what, [&] {
      auto result = within(patience, std::move(function), [this] { return !trouble().empty(); });
      if (result) return std::move(*result);
      require_no_trouble(what);
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(patience).count();
      throw Error("dist: " + what + " within " + std::to_string(seconds) + " s",
                  ExitCode::lost_ranks);
    });
  }

  // While one lives this rank waits for the others, who cannot be waiting for it.
  class Waiting {
   public:
    explicit Waiting(Membership& membership);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Membership& membership_;
  };

  // When an exchange has failed here or there is trouble: asks all ranks to report, if nobody has.
  // "; rank 1: <why it failed>" of a rank that has said so, else "; rank 1 does not answer: it
  // hangs, or is gone", else which ranks live and have not come to the exchange; nothing where all
  // wait for each other. Where it cannot be known it says that. Takes less than eight seconds, for
  // which launchers wait (GroupPatience); never throws.
  std::string cause();

  // Before this rank ends for a reason of its own: the others, whom it leaves, will tell it. Takes
  // a second at most; never throws.
  void say_why(const std::string& reason);

 private:
  struct State;
  std::shared_ptr<State> state_;  // with the thread, which a rendezvous that hangs may hold
};

// What the ranks report about themselves, at the rendezvous.

// What a rank that lives answers: that it waits in an exchange, that it has not come to it, or why
// it failed.
namespace answer {
inline constexpr const char* kWaits = "waits";
inline constexpr const char* kWorks = "works";
inline constexpr const char* kReason = "reason ";  // and the reason
}  // namespace answer

struct MembershipReplies {
  std::vector<int> answered, silent, working;
  std::string reason;  // of the first rank that has one, with its number

  // Whether nothing is left to wait for.
  bool settle_it() const;

  // Who is the cause, as Membership::cause says it.
  std::string sentence() const;
};

void answer_for(c10d::Store& store, int rank, const std::string& text);
MembershipReplies answers_so_far(c10d::Store& store, int world_size);

}  // namespace exprun
