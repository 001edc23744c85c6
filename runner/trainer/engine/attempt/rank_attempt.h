// A rank's part of an attempt, whatever it records where: device, threads, kernels, pipeline, where
// to go on.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/machine/processor.h"
#include "dist/process_group.h"
#include "dist/rendezvous.h"
#include "engine/attempt/hand_over.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/device/machine.h"
#include "engine/pipeline.h"
#include "engine/record/recorder.h"

namespace exprun {

// How many cores a rank computes on beside the others of its run.
struct CoreShare {
  int cores = 1;     // of this rank
  int machines = 1;  // of all ranks
};

// So many for each rank of a host that no core has two of them, at least 1: what the host's ranks
// may use together, divided by them, but no more than this rank's own. All ranks call it once.
// Throws Error.
CoreShare share_of_cores(Rendezvous& rendezvous, const Cores& own = own_cores());

// Of an exchange between ranks.
std::chrono::milliseconds exchange_timeout(const ResolvedRecipe& recipe);

class RankAttempt {
 public:
  // Connects the ranks that have met, if there are several, builds the pipeline and says what it
  // is. Throws RecipeError, Error.
  RankAttempt(const HandOver& hand_over, Rendezvous* rendezvous);
  RankAttempt(const RankAttempt&) = delete;
  RankAttempt& operator=(const RankAttempt&) = delete;

  const ResolvedRecipe& recipe() const { return recipe_; }
  const Pipeline& pipeline() const { return *pipeline_; }
  const Machine& machine() const { return machine_; }
  at::Device device() const { return device_; }
  const CoreShare& share() const { return share_; }

  // Loads the checkpoint to go on from, if there is one: its position. A run that begins takes the
  // weights of [model] init_from.
  std::optional<Position> restore(Recorder& recorder) const;

 private:
  // Whether the same kernels make the same bits: a CPU's do, a GPU's only if the recipe wants that.
  bool kernels_repeat() const;
  void begin_with_given_weights(Recorder& recorder) const;

  const HandOver& hand_over_;
  ResolvedRecipe recipe_;
  std::optional<CheckpointState> state_;
  at::Device device_;
  CoreShare share_;
  Machine machine_;
  std::optional<Pipeline> pipeline_;
};

}  // namespace exprun
