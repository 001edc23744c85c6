// What is said before a sweep starts: how much there is to do, and what is new since an earlier
// one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/launch/launch.h"
#include "control/sweep/run/slots.h"
#include "control/sweep/trials.h"

namespace exprun {

struct Forecast {
  int64_t to_run = 0;
  std::vector<const Trial*> to_begin;  // of these, without a run to continue
  std::map<RunState, int64_t> ended;   // trials that are not run again, by what became of them
  size_t jobs = 1;                     // trials at a time
  // Of these, at the fastest speed that earlier runs of this host reached with the same model and
  // batch, and with what that run took beside its steps; of a trial to continue, what is left of
  // it. A trial without such a run takes as long for a token as the others on average; nothing if
  // there is no such run at all. As many trials as there are cores for their ranks and threads, or
  // GPUs for their ranks, are taken to be as fast as one alone.
  std::optional<double> seconds;
  bool counts_all = true;  // also evaluations and checkpoints, of each trial whose speed is known
};

// Without a store no trial has begun.
Forecast forecast(const Store* store, const StoreFolder& folder, const SweepPlan& plan,
                  bool retry_failed, size_t jobs, const SlotMachine& machine);

// "sweep of 24 trials (3 seeds), 20 of them still to run (3 finished, 1 pruned), about 12 min if
// run one after another", "..., about 6 min if run 2 at a time"
std::string forecast_text(const SweepPlan& plan, const Forecast& forecast);

// More than 100 trials are to run: asks at a terminal. Throws Error (wrong usage) when there is
// none, or the answer is no.
void require_consent(const Forecast& forecast);

// "compared with sweep 3: one new point (lr=0.001), 2 points left out (lr=1, lr=2)": against the
// newest one that has some of the points, or else the newest with points that are written alike.
// Empty where there is none, and where `sweep` is not new.
// Other points are another sweep; runs are shared, so what an earlier one has done counts.
std::string difference_from_earlier(const Store& store, const SweepRow& sweep,
                                    const SweepPlan& plan);

}  // namespace exprun
