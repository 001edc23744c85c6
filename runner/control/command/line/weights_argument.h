// RUN|DIR of `eval` and `sample`: whose weights they look at.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/dataset_info.h"
#include "control/command/command.h"
#include "control/launch/trainer_program.h"
#include "control/launch/weights/checkpoint_choice.h"
#include "store/store.h"
#include "text/tokenizer.h"

namespace exprun {

// Of the word and of the option, for help.
inline constexpr const char* kWeightsHelp =
    "a run (its id, uid, folder or name, @last or @best), a checkpoint or a HuggingFace folder";
inline const std::string kTokenizerHelp =
    std::string(
        "the tokenizer, for a run on token shards or for a HuggingFace folder that has none: ") +
    kVocabularyForms;

class WeightsArgument {
 public:
  // `command` begins the errors; `step` and `tokenizer` are its options --step and --tokenizer.
  // Throws Error.
  WeightsArgument(const std::string& command, const std::string& word, const std::string& step,
                  const std::string& tokenizer, const Globals& globals);

  // Its recipe with the changes that options imply and those that the user typed. Throws
  // RecipeError.
  RecipeText recipe(const Words& implied, const Words& typed = {}) const;

  const std::optional<RunRow>& run() const { return run_; }

  // What its data and its tokenizer tell of its recipe; of data that cannot be read nothing, which
  // the trainer tells. Throws Error.
  DatasetInfo facts();

  // With what recipe() made, judged. A run's checkpoint is held as long as this lives. Throws
  // Error.
  EvaluatedWeights located(RecipeText text);

 private:
  // Its recipe's data have none: they are shards of tokens.
  void require_no_tokenizer() const;

  // Throws Error where their sizes tell that the model was trained with another one.
  void require_that_of_model(const Tokenizer& given) const;

  // The one that is given, or the folder's; null where its data have one, or there is none. Throws
  // Error.
  const Tokenizer* tokenizer();

  std::string command_, word_;
  std::filesystem::path tokenizer_;  // absolute: the working directory may change; or empty
  const Globals& globals_;
  CheckpointChoice choice_;
  std::optional<Store> store_;
  std::optional<RunRow> run_;
  std::optional<HeldCheckpoint> checkpoint_;
  std::unique_ptr<const Tokenizer> loaded_;
};

}  // namespace exprun
