// What a terminal shows while a sweep runs: a table of the trials that run, and a line for all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/sweep/analysis.h"
#include "control/sweep/trials.h"

namespace exprun {

struct LiveTrial {
  int64_t number = 0;
  AxisValues point;
  int64_t step = 0, steps = 0;  // no steps: its run has not begun
  std::optional<double> loss;   // of the last step that was recorded
  std::vector<double> values;   // of the metric, the last ones
  std::string state;
  std::optional<double> seconds_left;
};

struct LiveSweep {
  size_t trials = 0;
  int finished = 0, failed = 0, pruned = 0, interrupted = 0;
  std::string metric;
  std::optional<double> seconds_left;
};

// In columns, of which those that do not fit are left out (the state first); the last line is that
// of the sweep:
//
//   trial     lr     step    state   ETA  val/loss
//       3  0.001  120/300  running  12 s     2.314  █▅▃▁
//   12 of 24 trials finished, 1 failed, 1 running, ETA 3 min 20 s
std::vector<std::string> live_lines(const std::vector<LiveTrial>& trials, const LiveSweep& sweep,
                                    const AxisColumns& axes, size_t width);

// How trials get on: what the store has of them, and how fast they have been since they were first
// seen.
class LiveTrials {
 public:
  LiveTrials(const Store& store, const SweepPlan& plan) : store_(store), plan_(plan) {}

  // `run`: its run, where that is running. Reads what is new of it.
  LiveTrial look(const Trial& trial, const std::optional<RunRow>& run, bool is_saving);

 private:
  // Of one attempt of a run.
  struct Seen {
    std::pair<int64_t, int64_t> attempt;  // the run's id and its number
    std::vector<MetricRow> values;        // the last ones
    int64_t first_step = 0;
    std::chrono::steady_clock::time_point first_seen;
  };

  void read_series(const RunRow& run, Seen& seen, LiveTrial& shown) const;

  const Store& store_;
  const SweepPlan& plan_;
  std::map<int64_t, Seen> seen_;  // by the trial's number
};

}  // namespace exprun
