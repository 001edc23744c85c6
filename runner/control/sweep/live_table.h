// What a terminal shows while a sweep runs: a line for each trial that runs, and one for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace exprun {

struct LiveTrial {
  int64_t number = 0;
  std::string changes;  // "lr=0.001"
  int64_t step = 0, steps = 0;
  std::vector<double> values;  // of the metric so far
  std::string state;
  std::optional<double> seconds_left;
};

struct LiveSweep {
  size_t trials = 0, finished = 0, failed = 0, pruned = 0;
  std::string metric;
  std::optional<double> seconds_left;
};

// "[3/24]  lr=0.001  120/300  running  ETA 12s  val/loss 2.314  █▅▃▁", in columns; the last line is
// that of the sweep: "12 of 24 finished, 1 failed, 2 running, ETA 3m 20s".
std::vector<std::string> live_lines(const std::vector<LiveTrial>& trials, const LiveSweep& sweep);

}  // namespace exprun
