// How ranks meet, and what comes of it when they do not.
#include "engine/attempt/hand_over.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <optional>
#include <thread>

#include "base/diagnostic.h"
#include "base/machine/network.h"
#include "engine/attempt/handshake.h"
#include "engine/attempt/shutdown_barrier.h"
#include "engine/tiny_run.h"
#include "support/rank_threads.h"

using namespace exprun;

namespace {

// What each of three ranks comes to: its device, or why none trains.
std::vector<std::string> devices_of_three(const std::string& wanted, const OwnGpu& own) {
  const TinyRun run({"run.device='" + wanted + "'"});
  std::vector<std::string> devices(3);
  on_ranks(3, [&](const auto& group, Rendezvous& rendezvous) {
    HandOver hand_over{{run.folder()}, run.text.to_json(), run.data, std::nullopt, "cuda"};
    std::string& mine = devices[static_cast<size_t>(group->rank())];
    try {
      if (group->rank() == 0)
        send_hand_over(rendezvous, hand_over, own);
      else
        hand_over = std::get<HandOver>(receive_hand_over(rendezvous, std::nullopt, own));
      mine = hand_over.device;
    } catch (const Error& error) {
      mine = error.what();
    }
    sum_over_ranks(*group, {1});  // the server stays until all have it
  });
  return devices;
}

std::string gpu_of_its_own(const RankPlace& place) {
  return "GPU-" + std::to_string(place.rank);
}

std::string no_gpu_for_the_last(const RankPlace& place) {
  if (place.rank < 2) return gpu_of_its_own(place);
  throw Error("gpu: rank 2 of this host has no GPU: 2 can be used");
}

std::string one_gpu_for_two(const RankPlace& place) {
  return place.rank == 1 ? "GPU-1" : "GPU-0";
}

using OfThree = std::vector<std::string>;

}  // namespace

TEST_CASE("hand-over: ranks that have a GPU each train on them") {
  for (const char* wanted : {"auto", "cuda"})
    CHECK(devices_of_three(wanted, gpu_of_its_own) == OfThree(3, "cuda"));
}

TEST_CASE("hand-over: where a rank has no GPU of its own, all train on the CPU") {
  CHECK(devices_of_three("auto", no_gpu_for_the_last) == OfThree(3, "cpu"));
  CHECK(devices_of_three("auto", one_gpu_for_two) == OfThree(3, "cpu"));
}

TEST_CASE("hand-over: or none trains, where the recipe insists on GPUs") {
  CHECK(devices_of_three("cuda", no_gpu_for_the_last) ==
        OfThree(3, "dist: rank 2 on " + host_name() +
                       ": gpu: rank 2 of this host has no GPU: 2 can be used"));
  CHECK(
      devices_of_three("cuda", one_gpu_for_two) ==
      OfThree(3,
              "dist: ranks 0 and 2 would use the same GPU, GPU-0; start one rank per GPU, or make "
              "the launcher assign a GPU to each rank (CUDA_VISIBLE_DEVICES, LOCAL_RANK)"));
}

TEST_CASE("hand-over: ranks whose programs for GPUs differ do not train on them") {
  CHECK(program_problem({{"GPU-0", "", "aa"}, {"GPU-1", "", "aa"}}).empty());
  CHECK(program_problem({{"GPU-0", "", "aa"}, {"GPU-1", "", "aa"}, {"GPU-2", "", "bb"}}) ==
        "dist: the GPU program is bb on rank 2 and aa on rank 0; install the same exprun and "
        "LibTorch on all machines");
}

TEST_CASE(
    "hand-over: other machines that do not come may be late, and a launcher's ranks are lost") {
  const TinyRun run;
  HandOver hand_over{{run.folder()}, run.text.to_json(), run.data, std::nullopt};
  for (const bool by_launcher : {false, true}) {
    const ListeningSocket listening = listen_on_loopback();  // the server before may still accept
    RankPlace place = place_of(0, 3, listening);
    place.handshake_timeout = std::chrono::seconds(1);
    place.external_launcher = by_launcher;
    Rendezvous rendezvous(place);
    try {
      send_hand_over(rendezvous, hand_over);
      FAIL("they joined");
    } catch (const Error& error) {
      CHECK(std::string(error.what()) ==
            "dist: rank 0 of 3 cannot meet the other ranks at 127.0.0.1:" +
                std::to_string(listening.port) + ": waited 1 s for ranks 1, 2");
      CHECK(error.code() == (by_launcher ? ExitCode::lost_ranks : ExitCode::preempted));
    }
  }
}

TEST_CASE("hand-over: a rank does not join the rank 0 of another job that had the port first") {
  const ListeningSocket listening = listen_on_loopback();
  Rendezvous rank_0(place_of(0, 2, listening));
  rank_0.set("hand-over", R"({"job": "17.0"})");
  RankPlace place = place_of(1, 2, listening);
  place.job = "15017.0";
  CHECK_THROWS_WITH_AS(
      join_rank_0(place),
      ("dist: rank 0 at 127.0.0.1:" + std::to_string(listening.port) +
       " belongs to job '17.0', but this rank belongs to job '15017.0'; use a different "
       "MASTER_PORT for each job")
          .c_str(),
      Error);
  CHECK_FALSE(rank_0.has("reply/1"));
}

namespace {

constexpr std::chrono::milliseconds kLook{10};

void wait_until_sent(Rendezvous& rendezvous, const char* key) {
  while (!rendezvous.has(key)) std::this_thread::sleep_for(kLook);
}

// What a rank above 0 comes to, in a thread: its device, its exit code, or why it fails.
class Follower {
 public:
  explicit Follower(RankPlace place)
      : thread_([this, place = std::move(place)] { outcome_ = outcome_at(place); }) {}

  const std::string& outcome() {
    if (thread_.joinable()) thread_.join();
    return outcome_;
  }

 private:
  static std::string outcome_at(const RankPlace& place) {
    try {
      const auto rendezvous = join_rank_0(place);
      const ReceivedHandOver received = receive_hand_over(*rendezvous, std::nullopt);
      if (const auto* code = std::get_if<ExitCode>(&received))
        return std::to_string(static_cast<int>(*code));
      return std::get<HandOver>(received).device;
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::string outcome_;
  std::thread thread_;
};

// Rank 0 in a thread, at a rendezvous that others look at meanwhile.
class Sender {
 public:
  explicit Sender(const RankPlace& place)
      : rendezvous(place),
        hand_over_{{run_.folder()}, run_.text.to_json(), run_.data, std::nullopt},
        thread_([this] { send(); }) {
    wait_until_sent(rendezvous, "hand-over");
  }
  ~Sender() { thread_.join(); }

  Rendezvous rendezvous;

 private:
  void send() {
    try {
      send_hand_over(rendezvous, hand_over_);
    } catch (const Error&) {  // who is told of it says it too
    }
  }

  const TinyRun run_;
  HandOver hand_over_;
  std::thread thread_;
};

std::string already(int rank, const ListeningSocket& listening) {
  return "dist: rank " + std::to_string(rank) +
         " has already joined at 127.0.0.1:" + std::to_string(listening.port) +
         "; start each rank only once";
}

// A socket from which nothing is accepted yet has something to read when somebody has connected.
void wait_until_connected(const ListeningSocket& listening) {
  pollfd polled{listening.fd.get(), POLLIN, 0};
  while (::poll(&polled, 1, -1) < 1) continue;
}

uint16_t port_of_nobody() {
  return listen_on_loopback().port;
}

std::string cannot_meet_at(const RankPlace& place) {
  return "dist: rank 1 of 2 cannot meet the other ranks at 127.0.0.1:" +
         std::to_string(place.port) + ": ";
}

// Of a rank 0 whose hand-over the others cannot understand.
constexpr const char* kNonsense = R"({"job": "", "restarts": 0, "max_restarts": 0})";

constexpr const char* kReplyOfAnother =
    R"({"process": "another", "problem": "", "gpu": {"uuid": "", "problem": "", "program": ""}})";

constexpr const char* kReplyOfOneWithAProblem =
    R"({"process": "third", "problem": "no", "gpu": {"uuid": "", "problem": "", "program": ""}})";

}  // namespace

TEST_CASE(
    "hand-over: a rank that died behind its reply is awaited, and takes part when it is back") {
  const ListeningSocket listening = listen_on_loopback();
  Sender rank_0(place_of(0, 3, listening));
  rank_0.rendezvous.set("reply/1", kReplyOfAnother);
  Follower second(place_of(2, 3, listening));
  wait_until_sent(rank_0.rendezvous, "reply/2");
  while (rank_0.rendezvous.has("reply/1")) std::this_thread::sleep_for(kLook);
  Follower first(place_of(1, 3, listening));
  CHECK(first.outcome() == "cpu");
  CHECK(second.outcome() == "cpu");
}

TEST_CASE("hand-over: of two processes that are started as one rank one takes part") {
  const ListeningSocket listening = listen_on_loopback();
  Sender rank_0(place_of(0, 3, listening));
  Follower first(place_of(1, 3, listening));
  wait_until_sent(rank_0.rendezvous, "reply/1");
  rank_0.rendezvous.set("decision", R"({"device": "cpu", "processes": ["", "another", ""]})");
  CHECK(first.outcome() == already(1, listening));
  rank_0.rendezvous.set("acknowledged/2", "");
  rank_0.rendezvous.set("reply/2", kReplyOfOneWithAProblem);  // which ends the handshake
}

TEST_CASE("hand-over: a rank does not join ranks that have begun without it") {
  const ListeningSocket listening = listen_on_loopback();
  Rendezvous rank_0(place_of(0, 2, listening));
  rank_0.set("hand-over", kNonsense);
  rank_0.set("decision", R"({"device": "cpu"})");
  RankPlace place = place_of(1, 2, listening);
  place.handshake_timeout = std::chrono::milliseconds(500);
  CHECK(Follower(place).outcome() == already(1, listening));
}

TEST_CASE("hand-over: a rank waits as long as somebody listens, and not for one who is gone") {
  std::optional<ListeningSocket> listening = listen_on_loopback();
  RankPlace place = place_of(1, 2, *listening);
  place.handshake_timeout = std::chrono::seconds(1);
  const std::string remedy =
      "; run the command on the machine with --node-rank=0, and run it again on this machine";
  const std::string cannot_meet = cannot_meet_at(place);
  Follower first(place);
  wait_until_connected(*listening);
  // One that comes later, to where nobody listens, has lost its patience, which is longer: the
  // first, whose launcher listens and prepares data, has not.
  RankPlace nowhere = place;
  nowhere.handshake_timeout = std::chrono::seconds(3);
  nowhere.port = port_of_nobody();
  CHECK(Follower(nowhere).outcome() ==
        cannot_meet_at(nowhere) + "no process has listened there for 3 s" + remedy);
  SUBCASE("until rank 0 comes") {
    Rendezvous rank_0(place_of(0, 2, *listening));
    shut_down(rank_0, {ExitCode::preempted, ""});
    CHECK(first.outcome() == "75");
  }
  SUBCASE("or its launcher ends") {
    listening.reset();
    CHECK(first.outcome() ==
          cannot_meet + "a process listened there, but sent nothing and has been gone for 1 s" +
              remedy);
    CHECK(Follower(place).outcome() ==
          cannot_meet + "no process has listened there for 1 s" + remedy);
  }
}

TEST_CASE("hand-over: the ranks' next command in a launcher's store meets none of the former") {
  const ListeningSocket listening = listen_on_loopback();
  const Rendezvous launcher(place_of(0, 2, listening));
  for (const ExitCode code : {ExitCode::done, ExitCode::bad_recipe}) {
    Follower first(served_place(1, 2, listening));
    { Rendezvous of_another_process(served_place(0, 2, listening)); }  // of the same command
    Rendezvous rendezvous(served_place(0, 2, listening));
    shut_down(rendezvous, {code, ""});
    CHECK(first.outcome() == std::to_string(static_cast<int>(code)));
  }
}

TEST_CASE("hand-over: ranks whose launchers count their restarts differently meet") {
  const ListeningSocket listening = listen_on_loopback();
  const Rendezvous launcher(place_of(0, 2, listening));
  RankPlace restarted = served_place(1, 2, listening);
  restarted.restarts = 1;
  Follower first(restarted);
  Sender rank_0(served_place(0, 2, listening));
  CHECK(first.outcome() == "cpu");
}

TEST_CASE("hand-over: in a launcher's store a rank goes on to the round that rank 0 begins anew") {
  const ListeningSocket listening = listen_on_loopback();
  const Rendezvous launcher(place_of(0, 2, listening));
  Rendezvous former(served_place(0, 2, listening));
  former.set("hand-over", kNonsense);
  Follower first(served_place(1, 2, listening));
  wait_until_sent(former, "reply/1");
  Sender rank_0(served_place(0, 2, listening));
  CHECK(first.outcome() == "cpu");
}
