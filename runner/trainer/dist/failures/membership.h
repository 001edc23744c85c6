// Which ranks still respond when an exchange between them has failed, or when a rank sends no
// heartbeat before the first one. In a ring of ranks only the neighbours of a rank that is gone
// notice it; all others learn it here.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "dist/failures/failure.h"
#include "dist/rank_place.h"

namespace c10d {
class Store;
}

namespace exprun {

// Each rank has one as soon as all have joined: until all_exchange() a rank without one is taken to
// be gone. A thread of its own looks at the rendezvous some times a second: when a rank asks all
// ranks to report, the thread reports for this one, whatever that is waiting for, and reads the
// reports of the others. A rank that does not report is the cause.
class Membership {
 public:
  Membership(c10::intrusive_ptr<c10d::Store> store, const RankPlace& place);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Exchanges begin. From here on a rank that waits learns within seconds that a process has ended,
  // and within a minute that a machine is lost. The rendezvous is lost when it has been silent for
  // `silence` and no process listens there. A rank that is stopped is not gone.
  void all_exchange(std::chrono::milliseconds silence = std::chrono::minutes(1));

  // Exchanges are over: a rendezvous that does not answer for `silence`, and for some seconds at
  // least, is trouble again.
  void all_part(std::chrono::milliseconds silence);

  // Why no further exchange can succeed: another rank has asked all to report, or the rendezvous is
  // lost or has not answered for too long. Empty where there is no trouble. Does not wait, except
  // for a second where the machine of a silent rendezvous does not answer.
  std::string trouble() const;

  // Throws Error where there is trouble: "dist: <what>: <trouble>".
  void require_no_trouble(const std::string& what) const;

  // Returns what the function returns, which waits for other ranks and checks for trouble from time
  // to time. Throws Error as dist_call() does, with the cause.
  template <class Function>
  auto while_waiting(const std::string& what, Function&& function) {
    const Waiting waiting(*this);
    try {
      return dist_call(what, std::forward<Function>(function));
    } catch (const Error& error) {
      throw Error(error.what() + cause(), error.code());
    }
  }

  // The same for a function that cannot check: it runs in a thread of its own, which is left behind
  // when there is trouble or `patience` has passed. It must own all that it needs.
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

  // While one lives, this rank waits for the others, so they cannot be waiting for it.
  class Waiting {
   public:
    explicit Waiting(Membership& membership);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Membership& membership_;
  };

  // To be called when an exchange has failed here or there is trouble: asks all ranks to report,
  // unless another rank has. Returns "; rank 1: <why it failed>" for a rank that has reported that,
  // else "; rank 1 does not respond: ..." for one that has not reported, else which ranks run and
  // have not joined the exchange; empty where all wait for each other. Says so where the cause is
  // unknown. Takes less than eight seconds, for which launchers wait (GroupPatience); never throws.
  std::string cause();

  // To be called before this rank ends for a reason of its own, which the others then show. Takes a
  // second at most; never throws.
  void report_failure(const std::string& reason);

 private:
  struct State;
  std::shared_ptr<State> state_;  // with the thread, which a rendezvous that hangs may hold
};

// What the ranks report about themselves, at the rendezvous.

// What a rank reports: that it waits in an exchange, that it has not joined it, or why it failed.
namespace report {
inline constexpr const char* kWaits = "waits";
inline constexpr const char* kWorks = "works";
inline constexpr const char* kReason = "reason ";  // and the reason
}  // namespace report

struct MembershipReports {
  std::vector<int> reported, silent, working;
  std::string reason;  // why the first rank that reports a failure failed, with its number

  // Whether the cause is known without further reports.
  bool is_conclusive() const;

  // The cause, as Membership::cause returns it.
  std::string sentence() const;
};

MembershipReports reports_so_far(c10d::Store& store, int world_size);

}  // namespace exprun
