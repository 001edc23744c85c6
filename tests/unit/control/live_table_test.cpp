#include "control/sweep/live_table.h"

#include <doctest/doctest.h>

#include <limits>

using namespace exprun;

using Lines = std::vector<std::string>;

TEST_CASE("live table: a line for each running trial, in columns, and one for the sweep") {
  const LiveSweep sweep{24, 12, 1, 2, "val/loss", 200};
  CHECK(live_lines({{3, "lr=0.001", 120, 300, {4, 3, 2.314}, "running", 12},
                    {11, "lr=0.01", 5, 300, {}, "running", {}}},
                   sweep) ==
        Lines{"[3/24]   lr=0.001  120/300  running  ETA 12s  val/loss 2.314  █▄▁",
              "[11/24]  lr=0.01   5/300    running",
              "12 of 24 finished, 1 failed, 2 stopped early, 2 running, ETA 3m 20s"});
  CHECK(live_lines({}, {2, 0, 0, 0, "val/loss", {}}) == Lines{"0 of 2 finished, 0 running"});
}
