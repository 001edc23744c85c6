#include "control/command/weights_argument.h"

#include <utility>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "control/command/stored_runs.h"
#include "control/launch/run/huggingface_model.h"

namespace exprun {
namespace {

// Of "runs/mine-1a2b3c4d/checkpoints/step_00000300".
std::optional<int64_t> step_of_checkpoint(const std::filesystem::path& word) {
  const std::string name = word.filename().string();
  constexpr std::string_view kStep = "step_";
  if (word.parent_path().filename() != "checkpoints" || !name.starts_with(kStep))
    return std::nullopt;
  return parse_number<int64_t>(name.substr(kStep.size()));
}

}  // namespace

WeightsArgument::WeightsArgument(const std::string& command, const std::string& word,
                                 const std::string& step, const Globals& globals)
    : command_(command), word_(word), globals_(globals), choice_(checkpoint_choice(command, step)) {
  if (is_huggingface_folder(word)) return;
  if (std::error_code ignored; std::filesystem::is_regular_file(
          std::filesystem::path(word) / "adapter_config.json", ignored))
    throw Error(command + ": '" + word +
                    "' has only an adapter, not the weights that it belongs to; give its run, or "
                    "export it without --adapter",
                ExitCode::bad_recipe);
  if (const auto step_of_word = step_of_checkpoint(word)) {
    if (step != "last")
      throw Error(command + ": '" + word + "' is a checkpoint already; leave out --step",
                  ExitCode::bad_recipe);
    word_ = std::filesystem::path(word).parent_path().parent_path().string();
    choice_ = {CheckpointChoice::Kind::step, *step_of_word};
  }
  store_.emplace(open_store(globals.store));
  run_ = find_run(*store_, globals.store, word_);
}

RecipeText WeightsArgument::recipe(const Words& changes) const {
  return run_ ? understood_recipe(*store_, *run_, changes, command_.c_str(), word_)
              : recipe_of(word_, changes);
}

EvaluatedWeights WeightsArgument::located(RecipeText text) {
  if (run_) {
    checkpoint_ = chosen_checkpoint(globals_.store, run_->folder, choice_, command_);
    const CheckpointFolder& checkpoint = checkpoint_->folder;
    return {std::move(text), "at step " + std::to_string(checkpoint.step) + " of " + run_->folder,
            globals_.store.run(run_->folder).path, checkpoint.path};
  }
  const auto tokenizer = tokenizer_of(word_);
  if (!tokenizer)
    throw Error(command_ + ": " + word_ +
                " has no tokenizer that exprun reads; it needs tokenizer.json, or vocab.json and "
                "merges.txt");
  return {std::move(text), "of " + word_, {}, {}, load_vocabulary(*tokenizer)->to_json()};
}

}  // namespace exprun
