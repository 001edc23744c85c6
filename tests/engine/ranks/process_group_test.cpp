// The process group, with threads for ranks: each has a group of its own, as a process would.
#include "dist/process_group.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <latch>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "base/diagnostic.h"
#include "dist/failures/failure.h"
#include "dist/failures/membership.h"
#include "dist/gloo.h"
#include "support/counted_group.h"
#include "support/rank_threads.h"

using namespace exprun;

namespace {

// Whose collectives have been aborted.
class LostGroup : public CountedGroup {
 public:
  LostGroup() : CountedGroup(single_process(), collectives_) {}
  void require_intact() override {
    throw Error("dist: rank 0 has lost the others", ExitCode::lost_ranks);
  }

 private:
  int collectives_ = 0;
};

// Of a rank 0 that hangs when it has answered once.
class StuckStore : public c10d::HashStore {
 public:
  StuckStore() = default;
  StuckStore(const StuckStore&) = delete;
  StuckStore& operator=(const StuckStore&) = delete;
  ~StuckStore() override = default;
  c10::intrusive_ptr<c10d::Store> clone() override {
    return c10::intrusive_ptr<c10d::Store>::reclaim_copy(this);
  }
  bool check(const std::vector<std::string>&) override {
    if (was_asked_.exchange(true)) std::this_thread::sleep_for(std::chrono::hours(1));
    return false;
  }

 private:
  std::atomic<bool> was_asked_ = false;
};

int what_a_gpu_says() {
  TORCH_CHECK(false, "CUDA error: unspecified launch failure");
}

}  // namespace

TEST_CASE("process group: what a GPU says of an aborted exchange is not the cause") {
  LostGroup lost;
  const auto intact = single_process();
  CHECK_THROWS_WITH_AS(with_true_cause(lost, what_a_gpu_says), "dist: rank 0 has lost the others",
                       Error);
  CHECK_THROWS_AS(with_true_cause(*intact, what_a_gpu_says), c10::Error);
  CHECK_THROWS_WITH_AS(with_true_cause(lost, []() -> int { throw Error("dataset: no"); }),
                       "dataset: no", Error);
  CHECK(with_true_cause(lost, [] { return 7; }) == 7);
}

TEST_CASE("process group: collectives of 1 to 4 ranks") {
  for (const int world_size : {1, 2, 3, 4}) {
    CAPTURE(world_size);
    struct Seen {
      int rank = -1, world_size = 0;
      at::Tensor sum, part, whole, first;
      std::vector<double> sums, of_rank_0;
    };
    const auto seen = from_ranks<Seen>(world_size, [](const auto& group) {
      const int rank = group->rank(), size = group->world_size();
      Seen seen{rank,
                size,
                at::full({5}, rank + 1.0),
                at::zeros({2}),
                at::zeros({2 * size}),
                at::full({3}, rank + 7.0),
                {},
                {}};
      group->all_reduce(seen.sum)->wait();
      group->reduce_scatter(seen.part, at::arange(2.0 * size, at::kFloat).mul(rank + 1))->wait();
      group->all_gather(seen.whole, at::full({2}, static_cast<double>(rank)))->wait();
      group->broadcast(seen.first, size - 1)->wait();
      seen.sums = sum_over_ranks(*group, {1, rank + 0.5});
      seen.of_rank_0 = from_rank_0(*group, {rank + 0.1, rank - 2.0});
      return seen;
    });
    const double n = world_size, ones_to_n = n * (n + 1) / 2;
    for (int rank = 0; rank < world_size; ++rank) {
      const Seen& at = seen[static_cast<size_t>(rank)];
      CHECK(at.rank == rank);
      CHECK(at.world_size == world_size);
      CHECK(at::equal(at.sum, at::full({5}, ones_to_n)));
      CHECK(at.part[1].item<double>() == (2 * rank + 1) * ones_to_n);
      CHECK(at::equal(at.whole, at::arange(world_size, at::kFloat).repeat_interleave(2)));
      CHECK(at::equal(at.first, at::full({3}, n + 6)));
      CHECK(at.sums == std::vector<double>{n, n * n / 2});
      CHECK(at.of_rank_0 == std::vector<double>{0.1, -2});
    }
  }
}

TEST_CASE("process group: a sum is added in the order of the ranks, whoever needs it") {
  constexpr int kRanks = 4;
  for (const int64_t count : {1, 7, 4000}) {
    CAPTURE(count);
    // Of numbers whose sum depends on the order.
    const auto term = [&](int rank) {
      return at::arange(1, count + 1, at::kFloat).mul(0.1F).add(rank).pow(rank + 1);
    };
    at::Tensor expected = term(0);
    for (int rank = 1; rank < kRanks; ++rank) expected.add_(term(rank));

    struct Seen {
      at::Tensor everywhere, on_one;
    };
    const auto seen = from_ranks<Seen>(kRanks, [&](const auto& group) {
      Seen seen{term(group->rank()), term(group->rank())};
      auto all = group->all_reduce(seen.everywhere), one = group->reduce(seen.on_one, 2);
      all->go_on();
      one->wait();
      all->wait();
      return seen;
    });
    for (const Seen& at : seen) CHECK(at::equal(at.everywhere, expected));
    CHECK(at::equal(seen[2].on_one, expected));
  }
}

TEST_CASE("process group: collectives under way at once end as they began") {
  const auto sums = from_ranks<std::vector<at::Tensor>>(3, [](const auto& group) {
    std::vector<at::Tensor> tensors;
    std::vector<std::unique_ptr<Collective>> pending;
    for (int i = 0; i < 20; ++i) {
      tensors.push_back(at::full({1000}, i + 1.0));
      pending.push_back(group->all_reduce(tensors.back()));
    }
    for (auto& collective : pending) collective->wait();
    return tensors;
  });
  for (const auto& tensors : sums)
    for (size_t i = 0; i < 20; ++i)
      CHECK(at::equal(tensors[i], at::full({1000}, 3.0 * (static_cast<double>(i) + 1))));
}

TEST_CASE(
    "process group: every rank is told which one is gone, long before an exchange times out") {
  struct Gone {
    int rank, world_size;
  };
  for (const Gone gone : {Gone{0, 6}, Gone{6, 12}}) {
    CAPTURE(gone.rank);
    const auto messages =
        from_ranks<std::string>(gone.world_size, [&](const auto& group) -> std::string {
          sum_over_ranks(*group, {1});
          if (group->rank() == gone.rank) return "";
          try {
            group->all_reduce(at::zeros({1 << 20}))->wait();
            return "no error";
          } catch (const Error& error) {
            return error.what();
          }
        });
    for (int rank = 0; rank < gone.world_size; ++rank) {
      if (rank == gone.rank) continue;
      const std::string& message = messages[static_cast<size_t>(rank)];
      const std::string last = "; rank " + std::to_string(gone.rank) +
                               " does not respond: it hangs or is no longer running";
      INFO(message);
      CHECK(message.find("dist: rank " + std::to_string(rank) +
                         " lost contact with the other ranks in all-reduce: ") == 0);
      CHECK(message.find("; rank") == message.size() - last.size());
      CHECK(message.ends_with(last));
      CHECK(message.find("imed out") == std::string::npos);
    }
  }
}

TEST_CASE("process group: a rank that dies before the first exchange is named") {
  for (const bool is_reachable : {true, false}) {
    CAPTURE(is_reachable);
    const ListeningSocket listening = listen_on_loopback();
    std::array<std::string, 3> messages;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        Rendezvous rendezvous(place_of(rank, 3, listening));
        if (rank == 1) {  // dies with the rendezvous
          if (is_reachable) rendezvous.set("address/1", "127.0.0.1");
          if (is_reachable) rendezvous.membership();
          return;
        }
        rendezvous.membership();
        try {
          gloo_group(rendezvous, kRankPatience);
        } catch (const Error& error) {
          messages[static_cast<size_t>(rank)] = error.what();
        }
      });
    for (auto& thread : threads) thread.join();
    for (const int rank : {0, 2}) {
      const std::string what =
          is_reachable ? "rank " + std::to_string(rank) + " cannot connect to the other ranks"
                       : "cannot get 'address/1' from the other ranks";
      CHECK(messages[static_cast<size_t>(rank)] ==
            "dist: " + what +
                ": a rank has sent no heartbeat for several seconds; rank 1 does not respond: it "
                "hangs or is no longer running");
    }
  }
}

namespace {

using std::chrono::seconds;

// An exchange that nothing ends, as Gloo's while it sends to a process that has ended.
int endless_exchange() {
  std::this_thread::sleep_for(std::chrono::hours(1));
  return 0;
}

// Rank 1 as a process of its own, which exchanges until it is told to leave in order.
class OtherProcess {
 public:
  explicit OtherProcess(const ListeningSocket& listening) : pid_(::fork()) {
    if (pid_ > 0) return;
    {
      Rendezvous rendezvous(place_of(1, 2, listening));
      rendezvous.membership()->all_exchange();
      rendezvous.set("exchanges", "");
      rendezvous.get("leave");
    }
    ::_exit(0);
  }
  ~OtherProcess() { end(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  int ends() {  // its status
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  void end() {
    if (pid_ < 0) return;
    signal(SIGKILL);
    ends();
  }

 private:
  pid_t pid_;
};

// Some looks of its thread.
std::string trouble_after(seconds time, Membership& membership) {
  const Membership::Waiting waiting(membership);
  const auto late = std::chrono::steady_clock::now() + time;
  while (membership.trouble().empty() && std::chrono::steady_clock::now() < late)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return membership.trouble();
}

}  // namespace

TEST_CASE("process group: an exchange that Gloo never ends does when another process has died") {
  const ListeningSocket listening = listen_on_loopback();
  OtherProcess other(listening);
  Rendezvous rendezvous(place_of(0, 2, listening));
  Membership& membership = *rendezvous.membership();
  membership.all_exchange();
  rendezvous.get("exchanges");
  CHECK(trouble_after(seconds(2), membership) == "");
  other.signal(SIGSTOP);  // as long as its process is there it may go on
  CHECK(trouble_after(seconds(3), membership) == "");
  other.end();
  CHECK_THROWS_WITH_AS(membership.while_waiting("rank 0 waits", seconds(60), endless_exchange),
                       "dist: rank 0 waits: the process of another rank has ended; rank 1 does not "
                       "respond: it hangs or is no longer running",
                       Error);
}

TEST_CASE("process group: a process that ends in order is no trouble for one that still waits") {
  const ListeningSocket listening = listen_on_loopback();
  OtherProcess other(listening);
  Rendezvous rendezvous(place_of(0, 2, listening));
  Membership& membership = *rendezvous.membership();
  membership.all_exchange();
  rendezvous.get("exchanges");
  CHECK(trouble_after(seconds(2), membership) == "");
  rendezvous.set("leave", "");
  CHECK(other.ends() == 0);
  CHECK(trouble_after(seconds(3), membership) == "");
}

TEST_CASE("process group: a rendezvous that hangs is lost to exchanges only with its machine") {
  const ListeningSocket listening = listen_on_loopback();
  RankPlace place;
  place.rank = 1;
  place.world_size = 2;
  place.port = 29;
  SUBCASE("it is there") {
    place.port = listening.port;
  }
  SUBCASE("it is not") {}
  Membership membership(c10::make_intrusive<StuckStore>(), place);
  membership.all_exchange(seconds(7));
  CHECK(trouble_after(seconds(10), membership) ==
        (place.port == 29 ? "the rendezvous at 127.0.0.1:29 does not respond" : ""));
}

TEST_CASE("process group: a rendezvous that hangs before or behind the exchanges is noticed") {
  RankPlace place;
  place.rank = 1;
  place.world_size = 2;
  place.port = 29;
  Membership membership(c10::make_intrusive<StuckStore>(), place);
  SUBCASE("before") {}
  SUBCASE("behind") {
    membership.all_exchange();
    membership.all_part(std::chrono::seconds(7));
  }
  CHECK_THROWS_WITH_AS(
      membership.while_waiting("rank 1 waits", std::chrono::minutes(10), endless_exchange),
      "dist: rank 1 waits: the rendezvous at 127.0.0.1:29 does not respond; rank "
      "0 does not respond: it hangs or is no longer running",
      Error);
}

TEST_CASE("process group: none is taken for gone while answers of the others still come") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  constexpr int kRanks = 5;
  std::array<std::string, kRanks> causes;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      // Each some time after the answer of the one before: together more than the patience with
      // one.
      while (reports_so_far(*store, kRanks).reported.size() < static_cast<size_t>(rank))
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (rank > 0) std::this_thread::sleep_for(std::chrono::milliseconds(550));
      RankPlace place;
      place.rank = rank;
      place.world_size = kRanks;
      Membership membership(store, place);
      const Membership::Waiting waiting(membership);
      causes[static_cast<size_t>(rank)] = membership.cause();
    });
  for (auto& thread : threads) thread.join();
  for (const std::string& cause : causes) CHECK(cause == "");
}

TEST_CASE("process group: a rank that lives and does not come to an exchange is named") {
  std::vector<std::string> messages(3);
  std::latch others(2);
  on_ranks(3, [&](const auto& group, Rendezvous& rendezvous) {
    if (group->rank() == 1) return others.wait();
    if (group->rank() == 2) {
      messages[2] = rendezvous.membership()->cause();  // as when its exchange has timed out
    } else {
      try {
        group->all_reduce(at::zeros({1 << 20}))->wait();
      } catch (const Error& error) {
        messages[0] = error.what();
      }
    }
    others.count_down();
  });
  const std::string named = "; rank 1 is running, but has not joined the exchange";
  CHECK(messages[2] == named);
  CHECK(messages[0] ==
        "dist: rank 0 lost contact with the other ranks in all-reduce: an exchange on another rank "
        "has failed" +
            named);
}

TEST_CASE("process group: a rank that fails for a reason of its own tells the others") {
  std::string message;
  on_ranks(2, [&](const auto& group, Rendezvous& rendezvous) {
    if (group->rank() == 1)
      return rendezvous.membership()->report_failure("memory: there is not enough");
    try {
      group->all_reduce(at::zeros({1 << 20}))->wait();
    } catch (const Error& error) {
      message = error.what();
    }
  });
  CHECK(message.find("dist: rank 0 lost contact with the other ranks in all-reduce: ") == 0);
  CHECK(message.ends_with("; rank 1: memory: there is not enough"));
}

TEST_CASE("rendezvous: what one rank sets all others get") {
  std::vector<std::string> got(3);
  on_ranks(3, [&](const auto& group, Rendezvous& rendezvous) {
    if (group->rank() == 0) rendezvous.set("recipe", std::string("a\0b", 3));
    got[static_cast<size_t>(group->rank())] = rendezvous.get("recipe");
    sum_over_ranks(*group, {1});  // the server stays until all have it
  });
  for (const auto& text : got) CHECK(text == std::string("a\0b", 3));
}

TEST_CASE("rendezvous: a rank 0 that does not come is an error that says where") {
  RankPlace alone = place_of(1, 2, listen_on_loopback());  // nobody listens any more
  alone.handshake_timeout = std::chrono::milliseconds(300);
  try {
    Rendezvous rendezvous(alone);
    FAIL("they joined");
  } catch (const Error& error) {
    CHECK(std::string(error.what())
              .find("dist: rank 1 of 2 cannot meet the other ranks at 127.0.0.1:" +
                    std::to_string(alone.port) + ": ") == 0);
  }
}

TEST_CASE("own address: the loopback towards the loopback, and an error for a host that is none") {
  CHECK(own_address_towards("127.0.0.1") == "127.0.0.1");
  try {
    own_address_towards("no-such-host.invalid");
    FAIL("it has an address");
  } catch (const Error& error) {
    CHECK(std::string(error.what())
              .find("network: the address of no-such-host.invalid is unknown (") == 0);
  }
}
