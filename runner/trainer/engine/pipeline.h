// Everything that a recipe describes, built and connected: dataset -> model -> optimizers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/process_group.h"
#include "engine/buffers/optimizers.h"
#include "engine/buffers/weight_average.h"
#include "engine/dataset.h"
#include "engine/device/numeric_environment.h"
#include "engine/evaluation.h"
#include "engine/model.h"
#include "engine/run_plan.h"
#include "engine/schedule.h"
#include "recipe/resolved.h"
#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {

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
  std::unique_ptr<Dataset> dataset;      // null to generate text
  std::unique_ptr<Tokenizer> tokenizer;  // null if the data has none
  RunPlan plan;
  std::unique_ptr<Schedule> schedule;  // null to generate text
  std::vector<NamedEvaluation> evaluations;
  std::optional<int64_t> token_limit = {};  // of the data: PreparedData::token_limit()

  Model& model() const { return *train_state.model; }
  Optimizers& optimizers() const { return *train_state.optimizers; }

  // This rank's part of the global batch: the samples [first, first + count) of it.
  struct Share {
    int64_t first = 0, count = 0;
  };
  Share share() const;

  // What the bits of this run depend on, with its ranks.
  NumericEnvironment environment() const;

  // A batch of the dataset. A token outside of the vocabulary is a RecipeError at
  // model.vocab_size, or, where the data are known to have none, an Error that names the shard.
  Batch read(Split split, int64_t first_sample, int64_t count) const;
};

// Recipe and data outlive the pipeline. Throws RecipeError, Error.
Pipeline build_pipeline(const ResolvedRecipe& recipe, const PreparedData& data,
                        std::shared_ptr<ProcessGroup> group = single_process(),
                        at::Device device = at::kCPU);

// The same for evaluations only, of weights that the caller fills in: build_weights(). The tokens
// of the train split may be gone.
Pipeline build_evaluations(const ResolvedRecipe& recipe, const PreparedData& data,
                           at::Device device);

// To generate text, of weights that the caller fills in: the model and the tokenizer. No token of
// the data is needed, so nothing is read of its shards.
Pipeline build_generation(const ResolvedRecipe& recipe, const PreparedData& data,
                          at::Device device);

}  // namespace exprun
