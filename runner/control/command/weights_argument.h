// RUN|DIR of `eval` and `sample`: whose weights they look at.
#pragma once

#include <optional>
#include <string>

#include "control/command/command.h"
#include "control/launch/run/checkpoint_choice.h"
#include "control/launch/trainer_program.h"
#include "store/store.h"

namespace exprun {

// Of the word, for help.
inline constexpr const char* kWeightsHelp =
    "a run (its id, uid, folder or name, @last, @best), a checkpoint or a HuggingFace folder";

class WeightsArgument {
 public:
  // `command` begins the errors, and `step` is its option --step. Throws Error.
  WeightsArgument(const std::string& command, const std::string& word, const std::string& step,
                  const Globals& globals);

  // Its recipe with changes. Throws RecipeError.
  RecipeText recipe(const Words& changes) const;

  const std::optional<RunRow>& run() const { return run_; }

  // With what recipe() made, judged. A run's checkpoint is held as long as this lives. Throws
  // Error.
  EvaluatedWeights located(RecipeText text);

 private:
  std::string command_, word_;
  const Globals& globals_;
  CheckpointChoice choice_;
  std::optional<Store> store_;
  std::optional<RunRow> run_;
  std::optional<HeldCheckpoint> checkpoint_;
};

}  // namespace exprun
