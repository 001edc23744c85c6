// Everything that a recipe describes, built and connected: dataset -> model -> optimizers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/process_group.h"
#include "engine/buffers/optimizers.h"
#include "engine/buffers/weight_average.h"
#include "engine/dataset.h"
#include "engine/device/machine.h"
#include "engine/divergence/divergence.h"
#include "engine/evaluation.h"
#include "engine/model.h"
#include "engine/schedule.h"
#include "recipe/resolved.h"
#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {

// The numbers of a run that several parts share: how long, how large a batch, how often.

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

// The part that needs no data; on the meta device nothing is allocated.
struct TrainState {
  std::unique_ptr<ParameterList> parameters;
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizers> optimizers;  // null where nothing is trained
  std::unique_ptr<WeightAverage> average;  // null without [run] ema

  // What a checkpoint stores as model.safetensors.
  std::vector<NamedTensor> weights() const;
};

// Without optimizers, and with parameters that have no values yet. Throws RecipeError.
TrainState build_weights(const ResolvedRecipe& recipe, at::Device device);

// Parameters are initialised from the run's seed (not on the meta device), and are the same on all
// ranks of the group. Throws RecipeError.
TrainState build_train_state(const ResolvedRecipe& recipe, at::Device device,
                             std::shared_ptr<ProcessGroup> group = single_process());

struct NamedEvaluation {
  std::string name;
  int64_t every = 0;  // steps
  std::unique_ptr<Evaluation> evaluation;
};

struct Pipeline {
  const ResolvedRecipe& recipe;
  std::string data_fingerprint;
  std::shared_ptr<ProcessGroup> group;
  TrainState train_state;
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Tokenizer> tokenizer;  // null if the data has none
  RunPlan plan;
  std::unique_ptr<Schedule> schedule;
  std::vector<NamedEvaluation> evaluations;

  Model& model() const { return *train_state.model; }
  Optimizers& optimizers() const { return *train_state.optimizers; }

  // This rank's part of the global batch: the samples [first, first + count) of it.
  struct Share {
    int64_t first = 0, count = 0;
  };
  Share share() const;

  // What the bits of this run depend on, with its ranks.
  Machine machine() const;

  // A batch of the dataset; a token outside of the vocabulary is a RecipeError at
  // model.vocab_size.
  Batch read(Split split, int64_t first_sample, int64_t count) const;
};

// Recipe and data outlive the pipeline. Throws RecipeError, Error.
Pipeline build_pipeline(const ResolvedRecipe& recipe, const PreparedData& data,
                        std::shared_ptr<ProcessGroup> group = single_process(),
                        at::Device device = at::kCPU);

// The same for evaluations only, of weights that the caller fills in: build_weights(). `only` names
// the one that is wanted; empty: all are.
Pipeline build_evaluations(const ResolvedRecipe& recipe, const PreparedData& data,
                           at::Device device, const std::string& only = "");

}  // namespace exprun
