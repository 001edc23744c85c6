// How ranks meet, and what comes of it when they do not.
#include "engine/attempt/hand_over.h"

#include <doctest/doctest.h>

#include <optional>
#include <thread>

#include "base/diagnostic.h"
#include "base/machine/host_name.h"
#include "engine/tiny_run.h"
#include "support/rank_threads.h"

using namespace exprun;

namespace {

// What each of three ranks comes to: its device, or why none trains.
std::vector<std::string> devices_of_three(const std::string& wanted, const OwnGpu& own) {
  const TinyRun run({"run.device='" + wanted + "'"});
  std::vector<std::string> heard(3);
  on_ranks(3, [&](const auto& group, Rendezvous& rendezvous) {
    HandOver hand_over{{run.folder()}, run.text.to_json(), run.data, std::nullopt, "cuda"};
    std::string& mine = heard[static_cast<size_t>(group->rank())];
    try {
      if (group->rank() == 0)
        tell(rendezvous, hand_over, own);
      else
        hand_over = std::get<HandOver>(hear(rendezvous, std::nullopt, own));
      mine = hand_over.device;
    } catch (const Error& error) {
      mine = error.what();
    }
    sum_over_ranks(*group, {1});  // the server stays until all have it
  });
  return heard;
}

std::string gpu_of_its_own(const RankPlace& place) {
  return "GPU-" + std::to_string(place.rank);
}

std::string no_gpu_for_the_last(const RankPlace& place) {
  if (place.rank < 2) return gpu_of_its_own(place);
  throw Error("gpu: rank 2 of this host is without one: 2 can be used");
}

std::string one_gpu_for_two(const RankPlace& place) {
  return place.rank == 1 ? "GPU-1" : "GPU-0";
}

using Heard3 = std::vector<std::string>;

}  // namespace

TEST_CASE("hand-over: ranks that have a GPU each train on them") {
  for (const char* wanted : {"auto", "cuda"})
    CHECK(devices_of_three(wanted, gpu_of_its_own) == Heard3(3, "cuda"));
}

TEST_CASE("hand-over: where a rank has no GPU of its own, all train on the CPU") {
  CHECK(devices_of_three("auto", no_gpu_for_the_last) == Heard3(3, "cpu"));
  CHECK(devices_of_three("auto", one_gpu_for_two) == Heard3(3, "cpu"));
}

TEST_CASE("hand-over: or none trains, where the recipe insists on GPUs") {
  CHECK(devices_of_three("cuda", no_gpu_for_the_last) ==
        Heard3(3, "dist: rank 2 on " + host_name() +
                      ": gpu: rank 2 of this host is without one: 2 can be used"));
  CHECK(devices_of_three("cuda", one_gpu_for_two) ==
        Heard3(3,
               "dist: ranks 0 and 2 would compute on one GPU, GPU-0; start one rank a GPU, or have "
               "the launcher say which is a rank's own (CUDA_VISIBLE_DEVICES, LOCAL_RANK)"));
}

TEST_CASE("hand-over: ranks whose programs for GPUs differ do not train on them") {
  CHECK(program_problem({{"GPU-0", "", "aa"}, {"GPU-1", "", "aa"}}).empty());
  CHECK(program_problem({{"GPU-0", "", "aa"}, {"GPU-1", "", "aa"}, {"GPU-2", "", "bb"}}) ==
        "dist: the program for GPUs is bb on rank 2 and aa on rank 0: install the same exprun and "
        "LibTorch on all machines");
}

TEST_CASE(
    "hand-over: other machines that do not come may be late, and a launcher's ranks are lost") {
  const TinyRun run;
  HandOver hand_over{{run.folder()}, run.text.to_json(), run.data, std::nullopt};
  const ListeningSocket listening = listen_on_loopback();
  for (const bool by_launcher : {false, true}) {
    RankPlace place = place_of(0, 3, listening);
    place.meeting_timeout = std::chrono::seconds(1);
    place.joined = by_launcher;
    Rendezvous rendezvous(place);
    try {
      tell(rendezvous, hand_over);
      FAIL("they met");
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == "dist: rank 0 of 3 cannot meet the others at 127.0.0.1:" +
                                             std::to_string(listening.port) +
                                             ": after 1 s there is no rank 1, 2");
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
  CHECK_THROWS_WITH_AS(meet_rank_0(place),
                       ("dist: rank 0 at 127.0.0.1:" + std::to_string(listening.port) +
                        " is of job '17.0', and this rank of job '15017.0': give the ranks of each "
                        "job a MASTER_PORT of their own")
                           .c_str(),
                       Error);
  CHECK_FALSE(rank_0.has("answer/1"));
}

TEST_CASE("hand-over: a rank does not begin again with the rank 0 of its former life") {
  const ListeningSocket listening = listen_on_loopback();
  Rendezvous rank_0(place_of(0, 2, listening));
  rank_0.set("hand-over", "{}");
  rank_0.set("answer/1", "");
  RankPlace again = place_of(1, 2, listening);
  again.meeting_timeout = std::chrono::milliseconds(500);
  try {
    meet_rank_0(again);
    FAIL("it began");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) ==
          "dist: there is a rank 1 at 127.0.0.1:" + std::to_string(listening.port) +
              " already: each rank is started once");
  }
}

TEST_CASE("hand-over: a rank does not wait for a rank 0 that has been there and is gone") {
  std::optional<ListeningSocket> listening = listen_on_loopback();
  RankPlace place = place_of(1, 2, *listening);
  // Longer than the case; the thread that is left behind ends.
  place.meeting_timeout = std::chrono::seconds(12);
  place.absence_timeout = std::chrono::seconds(1);
  const auto began = std::chrono::steady_clock::now();
  // Its launcher listens, and prepares data.
  std::thread launcher([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    listening.reset();
  });
  CHECK_THROWS_WITH_AS(
      meet_rank_0(place),
      ("dist: rank 1 of 2 cannot meet the others at 127.0.0.1:" + std::to_string(place.port) +
       ": nobody has been there for 1 s; give the command to the machine with --node-rank=0, and "
       "to this one again")
          .c_str(),
      Error);
  launcher.join();
  const auto seconds = std::chrono::steady_clock::now() - began;
  CHECK(seconds > std::chrono::seconds(3));
  CHECK(seconds < std::chrono::seconds(8));
}

TEST_CASE("hand-over: the ranks' next command in a launcher's store meets none of the former") {
  const ListeningSocket listening = listen_on_loopback();
  const Rendezvous launcher(place_of(0, 2, listening));
  const auto place = [&](int rank, const std::string& command) {
    RankPlace place = place_of(1, 2, listening);
    place.rank = rank;
    place.store_is_served = place.joined = true;
    place.command = command;
    place.meeting_timeout = std::chrono::seconds(20);
    return place;
  };
  for (const ExitCode code : {ExitCode::done, ExitCode::bad_recipe}) {
    const std::string command = std::to_string(static_cast<int>(code));
    ExitCode heard = ExitCode::failed;
    std::thread other([&] {
      const auto rendezvous = meet_rank_0(place(1, "first " + command));
      heard = std::get<ExitCode>(hear(*rendezvous, std::nullopt));
    });
    { Rendezvous of_another_process(place(0, "second " + command)); }  // of the same command
    Rendezvous rendezvous(place(0, "second " + command));
    dismiss(rendezvous, {code, ""});
    other.join();
    CHECK(heard == code);
  }
}
