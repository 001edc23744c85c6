#include "control/command/weights_argument.h"

#include <utility>

#include "base/diagnostic.h"
#include "control/command/stored_runs.h"
#include "control/launch/run/huggingface_model.h"
#include "text/bpe/bpe_tokenizer.h"

namespace exprun {

WeightsArgument::WeightsArgument(const std::string& command, const std::string& word,
                                 const std::string& step, const Globals& globals)
    : command_(command), word_(word), globals_(globals), choice_(checkpoint_choice(command, step)) {
  if (is_huggingface_folder(word)) return;
  store_.emplace(open_store(globals.store));
  run_ = find_run(*store_, globals.store, word);
}

RecipeText WeightsArgument::recipe(const Words& changes) const {
  return run_ ? understood_recipe(*store_, *run_, changes, command_.c_str(), word_)
              : recipe_of(word_, changes);
}

EvaluatedWeights WeightsArgument::located(RecipeText text) const {
  if (run_) {
    const auto checkpoint = chosen_checkpoint(globals_.store, run_->folder, choice_, command_);
    return {std::move(text), "at step " + std::to_string(checkpoint.step) + " of " + run_->folder,
            globals_.store.run(run_->folder).path, checkpoint.path};
  }
  const auto tokenizer = tokenizer_of(word_);
  if (!tokenizer)
    throw Error(command_ + ": " + word_ +
                " has no tokenizer that exprun reads; it needs tokenizer.json, or vocab.json and "
                "merges.txt");
  return {std::move(text), "of " + word_, {}, {}, load_bpe_tokenizer(*tokenizer)->to_json()};
}

}  // namespace exprun
