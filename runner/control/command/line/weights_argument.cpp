#include "control/command/line/weights_argument.h"

#include <utility>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/data/fetch/catalogue.h"
#include "control/data/prepare_shards.h"
#include "control/data/prepared_set.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/weights/huggingface_model.h"
#include "recipe/quantities.h"
#include "recipe/resolved.h"
#include "recipe/toml/write.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

// How many tokens the shards of a run need a tokenizer to have; nothing where they are gone.
DatasetInfo vocabulary_of(const PreparedData& shards, const ResolvedRecipe& recipe) try {
  DatasetInfo info;
  add_vocabulary(recipe, shards, info);
  return info;
} catch (const RecipeError& error) {
  log(LogLevel::debug, error.what());
  return {};
}

// The option with the tokenizer that made the shards, where what lies beside them tells of its
// files.
std::string option_beside(const PreparedData& shards) try {
  for (const std::filesystem::path& folder : folders_of(shards))
    if (const auto tokenizer = load_set(folder).tokenizer; tokenizer.contains("vocabulary"))
      return ": --tokenizer " + shell_quoted(tokenizer["vocabulary"].get<std::string>());
  return "";
} catch (const Error& error) {
  log(LogLevel::debug, error.what());
  return "";
}

}  // namespace

WeightsArgument::WeightsArgument(const std::string& command, const std::string& word,
                                 const std::string& step, const std::string& tokenizer,
                                 const Globals& globals)
    : command_(command),
      word_(word),
      tokenizer_(tokenizer.empty() ? "" : std::filesystem::absolute(tokenizer)),
      globals_(globals),
      choice_(checkpoint_choice(command, step)) {
  if (is_huggingface_folder(word)) {
    if (!tokenizer.empty() && tokenizer_of(word))
      throw Error(command + ": '" + word + "' has its own tokenizer; leave out --tokenizer",
                  ExitCode::bad_recipe);
    return;
  }
  if (std::error_code ignored; std::filesystem::is_regular_file(
          std::filesystem::path(word) / "adapter_config.json", ignored))
    throw Error(command + ": '" + word +
                    "' has only an adapter, not the weights that it belongs to; give its run, or "
                    "export it without --adapter",
                ExitCode::bad_recipe);
  if (const auto checkpoint = checkpoint_at(word)) {
    if (!step.empty() && step != "last")
      throw Error(command + ": '" + word + "' is a checkpoint already; leave out --step",
                  ExitCode::bad_recipe);
    word_ = checkpoint->run.path.string();
    choice_ = {CheckpointChoice::Kind::step, checkpoint->step};
  }
  try {
    store_.emplace(open_store(globals.store));
    run_ = find_run_for_folder(*store_, globals.store, word_);
  } catch (const Error& error) {
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(word, ignored);
    const bool is_of_run = std::filesystem::exists(RunFolder{word_}.recipe(), ignored);
    if (const auto get = is_folder || error.code() != ExitCode::no_such_run
                             ? std::nullopt
                             : command_to_get((std::filesystem::path(word) / kModelFile).string()))
      throw Error(error.what() + ("; `" + *get + "` downloads the public weights of that name"),
                  error.code());
    if (!is_folder && word.find('/') != word.npos && error.code() == ExitCode::no_such_run)
      throw Error(command + ": there is no folder '" + word + "', and no run of that name",
                  ExitCode::no_such_run);
    if (!is_folder || is_of_run || error.code() != ExitCode::no_such_run) throw;
    throw Error(command + ": '" + word +
                    "' is neither a run nor a checkpoint, and not a HuggingFace folder, which has "
                    "a config.json" +
                    advice_on_own_tensors(word),
                ExitCode::no_such_run);
  }
  require_run_folder(globals.store, *run_, command);
  if (step.empty() && word_ == word)
    choice_ = choice_without_step(word, globals.store.run(run_->folder));
  if (!tokenizer.empty()) require_no_tokenizer();
}

void WeightsArgument::require_no_tokenizer() const {
  if (!PreparedData::load(globals_.store.run(run_->folder).data()).tokenizer.is_null())
    throw Error(command_ + ": the data of " + word_ + " has a tokenizer; leave out --tokenizer",
                ExitCode::bad_recipe);
}

void WeightsArgument::require_that_of_model(const Tokenizer& given) const {
  const ResolvedRecipe resolved = try_resolve(recipe({})).recipe;
  const PreparedData data =
      run_ ? PreparedData::load(globals_.store.run(run_->folder).data()) : PreparedData();
  const DatasetInfo tokens = run_ ? vocabulary_of(data, resolved) : DatasetInfo();
  const int64_t size = given.vocab_size();
  const auto described = tokens.described_vocab_size;
  if (size == described) return;
  const auto needed = described ? described : tokens.least_vocab_size;
  const auto of_model = integer_at(resolved.root(), "model.vocab_size");
  std::string misfit;
  if (of_model && size > *of_model)
    misfit = "more than the " + with_thousands(*of_model) + " of the model of ";
  else if (needed && size < *needed)
    misfit = "fewer than the " + with_thousands(*needed) + " of the data of ";
  else
    return;
  throw Error(command_ + ": --tokenizer '" + tokenizer_.string() + "' has " +
                  pluralize(size, "token") + ", " + misfit + word_ +
                  ", which was trained with another tokenizer; give that one" + option_beside(data),
              ExitCode::bad_recipe);
}

const Tokenizer* WeightsArgument::tokenizer() {
  if (loaded_) return loaded_.get();
  if (!tokenizer_.empty() && !path_exists(tokenizer_))
    throw Error(command_ + ": there is no file or folder '" + tokenizer_.string() +
                    "'; --tokenizer takes " + kVocabularyForms,
                ExitCode::bad_recipe);
  if (!tokenizer_.empty()) {
    auto given = load_vocabulary(tokenizer_);
    require_that_of_model(*given);
    loaded_ = std::move(given);
  } else if (const auto own = run_ ? std::nullopt : tokenizer_of(word_)) {
    loaded_ = load_vocabulary(*own);
  }
  return loaded_.get();
}

DatasetInfo WeightsArgument::facts() {
  DatasetInfo facts = run_ ? dataset_info_of(globals_.store, *run_) : DatasetInfo{};
  if (const Tokenizer* const known = tokenizer()) {
    const DatasetInfo told = facts_of(*known);
    facts.vocab_size = told.vocab_size;
    facts.characters = told.characters;
  }
  return facts;
}

RecipeText WeightsArgument::recipe(const Words& implied, const Words& typed) const {
  Words all = implied;
  if (!tokenizer_.empty()) {
    const bool is_json = vocabulary_files(tokenizer_).front().filename() == "tokenizer.json";
    all.insert(all.begin(), {std::string("dataset.tokenizer=") + (is_json ? "huggingface" : "gpt2"),
                             "dataset.vocabulary=" + toml_quoted(tokenizer_.string())});
  }
  RecipeText text = run_ ? understood_recipe(*store_, *run_, {}, command_.c_str(), word_)
                         : recipe_of_model(word_);
  for (const std::string& change : all) text.imply(change);
  text.type(typed);
  return text;
}

EvaluatedWeights WeightsArgument::located(RecipeText text) {
  if (run_) {
    checkpoint_ = chosen_checkpoint(globals_.store, run_->folder, choice_,
                                    {command_, [&] { return store_->runs(run_->name); }});
    const CheckpointFolder& checkpoint = checkpoint_->folder;
    return {std::move(text), "at step " + std::to_string(checkpoint.step) + " of " + run_->folder,
            globals_.store.run(run_->folder).path, checkpoint.path,
            tokenizer() ? tokenizer()->to_json() : nullptr};
  }
  if (!tokenizer())
    throw Error(command_ + ": " + word_ +
                " has no tokenizer that exprun reads; add tokenizer.json, or vocab.json and "
                "merges.txt, or give --tokenizer PATH");
  return {std::move(text), "of " + word_, {}, {}, tokenizer()->to_json()};
}

}  // namespace exprun
