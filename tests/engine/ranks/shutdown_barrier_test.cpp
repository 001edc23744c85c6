// How ranks leave when the run is trained.
#include "engine/attempt/shutdown_barrier.h"

#include <doctest/doctest.h>

#include <latch>
#include <optional>
#include <thread>

#include "support/rank_threads.h"

using namespace exprun;

TEST_CASE("shutdown: the others leave when rank 0 has saved, and rank 0 behind them") {
  const ListeningSocket listening = listen_on_loopback();
  Rendezvous rank_0(place_of(0, 3, listening));
  std::vector<std::thread> others;
  std::latch have_met(2);
  for (const int rank : {1, 2})
    others.emplace_back([&, rank] {
      Rendezvous rendezvous(place_of(rank, 3, listening));
      have_met.count_down();
      await_release(rendezvous, std::chrono::minutes(1));
    });
  have_met.wait();
  CHECK_FALSE(rank_0.has("leaves/1"));
  release_others(rank_0);
  CHECK(rank_0.has("leaves/1"));
  CHECK(rank_0.has("leaves/2"));
  for (std::thread& other : others) other.join();
}

TEST_CASE("shutdown: a rank that died while rank 0 saved keeps nobody" *
          doctest::test_suite("slow")) {
  const ListeningSocket listening = listen_on_loopback();
  Rendezvous rank_0(place_of(0, 3, listening));
  std::latch have_met(1);
  std::thread second([&] {
    Rendezvous rendezvous(place_of(2, 3, listening));
    have_met.count_down();
    await_release(rendezvous, std::chrono::minutes(1));
  });
  have_met.wait();
  release_others(rank_0);  // there is no rank 1
  CHECK(rank_0.has("leaves/2"));
  second.join();
}

TEST_CASE("shutdown: what is saved stays saved where the launcher with the rendezvous is gone") {
  const ListeningSocket listening = listen_on_loopback();
  std::optional<Rendezvous> launcher(std::in_place, place_of(0, 2, listening));
  Rendezvous rank_0(served_place(0, 2, listening));
  launcher.reset();
  CHECK_NOTHROW(release_others(rank_0));
}
