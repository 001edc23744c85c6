// The numbers of a run that several parts share: how long, how large a batch, how often.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/schedule.h"
#include "recipe/resolved.h"

namespace exprun {

// The global batch of one update.
struct BatchShape {
  int64_t sequences = 0;
  int64_t stride = 0;  // samples from one batch to the next: 0 where all updates take the same one
  int64_t sequence_length = 0;
  int64_t micro_batch = 0;  // sequences in one forward pass

  int64_t tokens() const { return sequences * sequence_length; }
};

// What "best" means for a run, and when it ends for want of it.
struct BestRule {
  std::string metric = "val/loss";
  bool maximize = false;
  int64_t patience = 0;  // evaluations without a new best that end the run; 0: none do
  double min_delta = 0;  // what counts as better

  bool improves(double value, double best) const {
    return maximize ? value > best + min_delta : value < best - min_delta;
  }
};

struct RunPlan {
  std::string name;
  int64_t seed = 0;
  BatchShape batch;
  Timeline timeline;
  double max_grad_norm = 0;  // 0: no clipping
  double lr_scale = 1;       // of every group, for the size of the batch
  bool scales_loss = false;  // fp16
  std::optional<double> expected_initial_loss;
  BestRule best;
  bool timers = false;
  int64_t metrics_every = 1;
  int64_t progress_every = 1;
  std::chrono::duration<double> system_every{0};
  Period checkpoint_every;         // steps or seconds
  int64_t desync_check_every = 0;  // steps; 0: after the first one only
  int64_t keep_last = 0;
  std::optional<double> max_minutes;
};

// How many a run saves behind `step`, its last one among them; at most, where time decides.
int64_t checkpoints_after(const RunPlan& plan, int64_t step);

BatchShape batch_shape(const ResolvedRecipe& recipe);

// `samples_per_epoch`: of the train split, 0 if passes have no meaning.
RunPlan run_plan(const ResolvedRecipe& recipe, int64_t samples_per_epoch);

}  // namespace exprun
