// How ranks meet, and what comes of it when they do not.
#include "engine/hand_over.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "engine/tiny_run.h"
#include "support/rank_threads.h"

using namespace exprun;

TEST_CASE("hand-over: where other machines do not come, nothing has begun, and nothing failed") {
  const TinyRun run;
  const HandOver hand_over{{run.folder()}, run.text.to_json(), run.data, std::nullopt};
  const ListeningSocket listening = listen_on_loopback();
  RankPlace place = place_of(0, 3, listening);
  place.meeting_timeout = std::chrono::seconds(1);
  Rendezvous rendezvous(place);
  try {
    tell(rendezvous, hand_over);
    FAIL("they met");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "dist: rank 0 of 3 cannot meet the others at 127.0.0.1:" +
                                           std::to_string(listening.port) +
                                           ": after 1 s there is no rank 1, 2");
    CHECK(error.code() == ExitCode::preempted);
  }
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
