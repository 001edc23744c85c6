// A rank's part of an attempt, whether or not it records it: device, threads, kernels, pipeline,
// and the position to continue from.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/machine/processor.h"
#include "dist/process_group.h"
#include "dist/rendezvous.h"
#include "engine/attempt/hand_over.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/device/numeric_environment.h"
#include "engine/pipeline.h"
#include "engine/record/recorder.h"

namespace exprun {

// The cores that a rank computes on, next to the other ranks of its run.
struct CoreShare {
  int cores = 1;     // of this rank
  int machines = 1;  // of all ranks
};

// Divides the cores that the ranks of a host may use together among them, so that no two ranks
// share a core: at least 1 for each, and no more than the rank may use itself. All ranks call it
// once. Throws Error.
CoreShare share_of_cores(Rendezvous& rendezvous, const Cores& own = own_cores());

// [parallelism] timeout: of an exchange between ranks.
std::chrono::milliseconds exchange_timeout(const ResolvedRecipe& recipe);

class RankAttempt {
 public:
  // Connects the ranks, if there are several, builds the pipeline and logs a summary of it.
  // `rendezvous` is null for a single rank. Throws RecipeError, Error.
  RankAttempt(const HandOver& hand_over, Rendezvous* rendezvous);
  RankAttempt(const RankAttempt&) = delete;
  RankAttempt& operator=(const RankAttempt&) = delete;

  const ResolvedRecipe& recipe() const { return recipe_; }
  const Pipeline& pipeline() const { return *pipeline_; }
  const NumericEnvironment& environment() const { return environment_; }
  at::Device device() const { return device_; }
  const CoreShare& share() const { return share_; }

  // Loads the checkpoint to continue from, if there is one, and returns its position. A run that
  // begins takes the weights of [model] init_from, if it names some.
  std::optional<Position> restore(Recorder& recorder) const;

 private:
  // Whether the same kernels give the same bits: a CPU's do, a GPU's only if the recipe asks for
  // it.
  bool kernels_repeat() const;
  void begin_with_given_weights(Recorder& recorder) const;

  const HandOver& hand_over_;
  ResolvedRecipe recipe_;
  std::optional<CheckpointState> state_;
  at::Device device_;
  CoreShare share_;
  NumericEnvironment environment_;
  std::optional<Pipeline> pipeline_;
};

}  // namespace exprun
