// How a rank notices that collectives of its device cannot end, with threads for ranks and
// functions for collectives.
#include "dist/failures/watchdog.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>

#include "base/diagnostic.h"
#include "dist/failures/failure.h"
#include "dist/gloo.h"
#include "support/rank_threads.h"

using namespace exprun;

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

bool comes_true(const std::function<bool()>& condition) {
  const auto late = Clock::now() + kRankPatience;
  while (!condition() && Clock::now() < late) std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

// When all are connected.
std::unique_ptr<Peers> peers_of(ProcessGroup& group, Rendezvous& rendezvous) {
  auto peers = gloo_peers(rendezvous, kRankPatience);
  sum_over_ranks(group, {1});
  return peers;
}

// What rank 0 of three finds when it looks once rank 2 has gone in some way: until it finds
// something, or for a while where there is nothing to find.
std::string seen_when_rank_2(const std::function<void(std::unique_ptr<Peers>)>& goes,
                             Clock::duration time = kRankPatience) {
  std::string seen;
  std::atomic<bool> gone = false, over = false;
  on_ranks(3, [&](const auto& group, Rendezvous& rendezvous) {
    auto peers = peers_of(*group, rendezvous);
    if (group->rank() == 2) {
      goes(std::move(peers));
      gone = true;
    }
    for (auto late = Clock::now() + time; peers && !over;) {
      const std::string trouble = peers->look();
      if (!gone) late = Clock::now() + time;
      if (group->rank() == 0) {
        seen = trouble;
        over = !seen.empty() || Clock::now() > late;
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    sum_over_ranks(*group, {1});
  });
  return seen;
}

bool at_once() {
  return true;
}

bool never() {
  return false;
}

struct Watched {
  std::string trouble;
  int aborts = 0;
};

// Of one rank that has followed a collective.
Watched watched(
    const std::function<bool()>& has_ended, milliseconds timeout,
    const std::function<bool()>& has_begun = at_once, const std::function<void()>& abort = [] {}) {
  Watched result;
  on_ranks(1, [&](const auto& group, Rendezvous& rendezvous) {
    std::atomic<int> aborts = 0;
    DeviceWatch watch(peers_of(*group, rendezvous), timeout, [&] {
      abort();
      ++aborts;
    });
    watch.follow({has_begun, has_ended});
    comes_true([&] { return aborts > 0; });
    result = {watch.trouble(), aborts};
  });
  return result;
}

}  // namespace

TEST_CASE(
    "peers: one that is gone, or has failed, is noticed by the others; one that leaves is not") {
  CHECK(seen_when_rank_2([](auto peers) { peers.reset(); }) ==
        "the process of another rank has ended");
  CHECK(seen_when_rank_2([](auto peers) { peers->leave(Peers::Status::failed); }) ==
        "another rank has failed");
  CHECK(seen_when_rank_2([](auto peers) { peers->leave(Peers::Status::leaving); },
                         milliseconds(500)) == "");
}

TEST_CASE("device watch: a collective that takes too long, or fails, is aborted once") {
  const Watched late = watched(never, milliseconds(1000));
  CHECK(late.trouble == "the exchange did not finish within 1 s");
  CHECK(late.aborts == 1);
  const Watched failed = watched(
      []() -> bool { throw std::runtime_error("NCCL error: remote\nstack"); }, milliseconds(60000));
  CHECK(failed.trouble == "NCCL error: remote");
  CHECK(failed.aborts == 1);
}

TEST_CASE("device watch: time counts from the end of the collective before") {
  on_ranks(1, [&](const auto& group, Rendezvous& rendezvous) {
    int aborts = 0;
    std::atomic<bool> last_has_ended = false;
    DeviceWatch watch(peers_of(*group, rendezvous), milliseconds(2000), [&] { ++aborts; });
    const auto began = Clock::now();
    watch.follow({at_once, [=] { return Clock::now() > began + milliseconds(1250); }});
    watch.follow({at_once, [=, &last_has_ended] {
                    if (Clock::now() > began + milliseconds(2500)) last_has_ended = true;
                    return last_has_ended.load();
                  }});
    CHECK(comes_true([&] { return last_has_ended || !watch.trouble().empty(); }));
    CHECK(watch.trouble().empty());
    watch.leave(Peers::Status::leaving);
    CHECK(aborts == 0);
  });
}

TEST_CASE("device watch: time counts from when the device has come to the collective") {
  on_ranks(1, [&](const auto& group, Rendezvous& rendezvous) {
    std::atomic<int> aborts = 0;
    std::atomic<bool> has_begun = false;
    DeviceWatch watch(peers_of(*group, rendezvous), milliseconds(1000), [&] { ++aborts; });
    watch.follow({[&] { return has_begun.load(); }, never});
    std::this_thread::sleep_for(milliseconds(1500));
    CHECK(watch.trouble().empty());
    const auto began = Clock::now();
    has_begun = true;
    CHECK(comes_true([&] { return aborts > 0; }));
    CHECK(Clock::now() > began + milliseconds(1000));
    CHECK(watch.trouble() == "the exchange did not finish within 1 s");
  });
}

TEST_CASE("device watch: a device that hangs keeps nobody from hearing of the others") {
  const auto hangs = std::make_shared<std::atomic<bool>>(false);  // its thread is left behind
  const auto hang = [hangs] {
    *hangs = true;
    std::this_thread::sleep_for(std::chrono::seconds(10));
    return false;
  };
  std::string seen;
  on_ranks(2, [&](const auto& group, Rendezvous& rendezvous) {
    auto peers = peers_of(*group, rendezvous);
    if (group->rank() == 1) {
      comes_true([&] { return hangs->load(); });
      peers->leave(Peers::Status::failed);
    } else {
      std::atomic<int> aborts = 0;
      DeviceWatch watch(std::move(peers), std::chrono::minutes(1), [&] { ++aborts; });
      watch.follow({at_once, hang});
      comes_true([&] { return aborts > 0; });
      seen = watch.trouble();
    }
    sum_over_ranks(*group, {1});
  });
  CHECK(seen == "another rank has failed");
  CHECK(watched(hang, milliseconds(1000)).trouble == "the GPU does not respond");
}

TEST_CASE("device watch: where what the device runs cannot be aborted, the process ends") {
  const pid_t child = ::fork();
  if (child == 0) {
    watched([]() -> bool { throw std::bad_alloc(); }, milliseconds(60000), at_once,
            [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
    std::_Exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(ExitCode::lost_ranks));
}

TEST_CASE("device watch: a rank that is gone aborts what the others run") {
  std::vector<Watched> seen(3);
  on_ranks(3, [&](const auto& group, Rendezvous& rendezvous) {
    auto peers = peers_of(*group, rendezvous);
    if (group->rank() == 1) {
      peers.reset();
    } else {
      std::atomic<int> aborts = 0;
      DeviceWatch watch(std::move(peers), std::chrono::minutes(1), [&] { ++aborts; });
      watch.follow({at_once, never});
      comes_true([&] { return aborts > 0; });
      seen[static_cast<size_t>(group->rank())] = {watch.trouble(), aborts};
    }
    sum_over_ranks(*group, {1});
  });
  for (const size_t rank : {0, 2}) {
    CHECK(seen[rank].aborts == 1);
    CHECK(seen[rank].trouble.size() > 0);  // that one is gone, or that the other has noticed first
  }
}

TEST_CASE("within: what does not come in time, or in vain, is left behind") {
  const auto never = [] {
    std::this_thread::sleep_for(std::chrono::hours(1));
    return 1;
  };
  CHECK(within(kRankPatience, [] { return 7; }) == 7);
  CHECK_FALSE(within(milliseconds(100), never));
  CHECK_FALSE(within(std::chrono::hours(1), never, [] { return true; }));
  CHECK_THROWS_AS(within(kRankPatience, []() -> int { throw Error("dist: no"); }), Error);
}
