#include "control/sweep/run/live_table.h"

#include <doctest/doctest.h>

#include <limits>

using namespace exprun;

using Lines = std::vector<std::string>;

namespace {

LiveTrial trial(int64_t number, const std::string& changes, int64_t step,
                std::vector<double> values, std::optional<double> seconds_left) {
  return {number, axis_values(changes), step, 300, 2.5, std::move(values), "running", seconds_left};
}

}  // namespace

TEST_CASE("live table: a line for each running trial, in columns, and one for the sweep") {
  const LiveSweep sweep{24, 12, 1, 2, 1, "val/loss", 200};
  const AxisColumns axes({axis_values("optimizer.lr=0.001 model.num_layers=2")});
  std::vector<LiveTrial> trials{
      trial(3, "optimizer.lr=0.001 model.num_layers=2", 120, {4, 3, 2.314}, 12),
      trial(11, "optimizer.lr=0.01 model.num_layers=4", 5, {}, {})};
  CHECK(live_lines(trials, sweep, axes, 120) ==
        Lines{"trial     lr  num_layers     step  state     ETA   loss  val/loss",
              "    3  0.001           2  120/300  running  12 s  2.500     2.314  █▄▁",
              "   11   0.01           4    5/300  running        2.500",
              "12 of 24 trials finished, 1 failed, 2 stopped early, 1 interrupted, 2 running, ETA "
              "3 min 20 s"});
  // Of a narrow terminal the state goes first, then the curve.
  CHECK(live_lines(trials, sweep, axes, 61)[1] ==
        "    3  0.001           2  120/300  12 s  2.500     2.314  █▄▁");
  CHECK(live_lines(trials, sweep, axes, 57)[1] ==
        "    3  0.001           2  120/300  12 s  2.500     2.314");
  // Where the trials are compared by the training loss, it stands once.
  const LiveSweep by_train_loss{24, 12, 1, 2, 1, "train/loss", 200};
  CHECK(live_lines(trials, by_train_loss, axes, 120)[0] ==
        "trial     lr  num_layers     step  state     ETA  train/loss");
  trials = {{4, axis_values("optimizer.lr=0.1 model.num_layers=2"), 0, 0, {}, {}, "starting", {}}};
  CHECK(live_lines(trials, sweep, axes, 120)[1] == "    4  0.1           2        starting");
  CHECK(live_lines({}, {2, 0, 0, 0, 0, "val/loss", {}}, axes, 80) ==
        Lines{"0 of 2 trials finished, 0 running"});
}
