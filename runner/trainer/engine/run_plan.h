// The numbers of a run that several parts share: how long, how large a batch, how often.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/period.h"
#include "engine/divergence/divergence.h"
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

// What "best" means for a run, and when the lack of improvement ends it.
struct BestRule {
  std::string metric = "val/loss";
  bool maximize = false;
  int64_t patience = 0;  // evaluations without an improvement that end the run; 0: none do
  double min_delta = 0;  // what is no improvement may still be a new best

  bool is_better(double value, double than) const { return maximize ? value > than : value < than; }
  bool improves(double value, double on) const {
    return maximize ? value > on + min_delta : value < on - min_delta;
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
  bool begins_with_weights = false;  // that are given, not random
  BestRule best;
  DivergenceRule divergence;
  bool timers = false;
  int64_t metrics_every = 1;
  int64_t progress_every = 1;
  std::chrono::duration<double> system_every{0};
  Period checkpoint_every;         // steps or seconds
  int64_t desync_check_every = 0;  // steps; 0: after the first one only
  int64_t keep_last = 0;
  bool keep_best = false;  // where `best` is found the run is saved, and that checkpoint stays
  std::optional<double> max_minutes;
};

// How many a run saves after `step`, its last one among them; at most, where time decides.
int64_t checkpoints_after(const RunPlan& plan, int64_t step);

BatchShape batch_shape(const ResolvedRecipe& recipe);

// `samples_per_epoch`: of the train split, 0 if passes have no meaning.
RunPlan run_plan(const ResolvedRecipe& recipe, int64_t samples_per_epoch);

}  // namespace exprun
