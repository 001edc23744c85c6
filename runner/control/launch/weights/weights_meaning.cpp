#include "control/launch/weights/weights_meaning.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/files/checkpoints.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/launch/run/run_data.h"
#include "control/launch/weights/huggingface_model.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The characters of a char tokenizer, all bytes as one word, nothing for another tokenizer.
std::optional<std::vector<std::string>> characters_of(const json& tokenizer) {
  const std::string type = tokenizer.is_object() ? tokenizer.value("type", "") : "";
  if (type == "byte") return std::vector<std::string>{type};
  if (type != "char") return std::nullopt;
  return tokenizer.at("table").get<std::vector<std::string>>();
}

std::string named(const std::vector<std::string>& characters) {
  return characters.size() == 1 ? "bytes" : std::to_string(characters.size()) + " characters";
}

// Keys of [model], or tables there, that change what a model computes and not its tensors.
constexpr std::string_view kMeaning[] = {
    "num_heads", "num_key_value_heads", "head_dim",   "norm",           "position",
    "qk_norm",   "sliding_window",      "activation", "embedding_norm", "logit_softcap"};

bool is_of_meaning(std::string_view path) {
  constexpr std::string_view kModel = "model.";
  if (!path.starts_with(kModel)) return false;
  path.remove_prefix(kModel.size());
  return std::find(std::begin(kMeaning), std::end(kMeaning), path.substr(0, path.find('.'))) !=
         std::end(kMeaning);
}

std::optional<ResolvedRecipe> recipe_with(const fs::path& weights) {
  if (is_huggingface_folder(weights)) return try_resolve(recipe_of_model(weights)).recipe;
  const auto checkpoint = checkpoint_at(weights);
  return checkpoint ? recipe_of_run(checkpoint->run) : std::nullopt;
}

}  // namespace

void warn_of_other_characters(const fs::path& checkpoint, const PreparedData& data) {
  const auto of_run = checkpoint_at(checkpoint);
  const auto trained_on = of_run ? data_of_run(of_run->run) : std::nullopt;
  if (!trained_on) return;
  const auto theirs = characters_of(trained_on->tokenizer);
  const auto ours = characters_of(data.tokenizer);
  if (!theirs || !ours) return;
  const bool go_on =
      ours->size() >= theirs->size() && std::equal(theirs->begin(), theirs->end(), ours->begin());
  if (go_on) return;
  log_warning("the weights of '" + checkpoint.string() + "' were trained with a tokenizer of " +
              named(*theirs) + ", and the tokens of this data (" + named(*ours) +
              ") stand for others: what the model has learned of its tokens is lost; a new run "
              "with model.init_from=" +
              shell_quoted(of_run->run.path.filename().string()) + " matches tokens by their text");
}

// A default or removed key has no place of its own: what asks for the weights has one.
Diagnostics other_model(const fs::path& weights, const ResolvedRecipe& recipe) try {
  constexpr const char* kFrom = "model.init_from";
  const auto theirs = recipe_with(weights);
  if (!theirs) return {};
  Diagnostics warnings;
  for (const auto& [path, was, is] : differences(*theirs, recipe))
    if (is_of_meaning(path) && !was.empty() && !is.empty())
      warnings.push_back({place_of(recipe.root(), is_written(recipe.root(), path) ? path : kFrom),
                          "the weights of '" + weights.string() + "' were trained with " + path +
                              " = " + was + ", not " + is,
                          "with another value the same weights compute something else",
                          {},
                          Severity::warning});
  return warnings;
} catch (const Error& error) {
  log(LogLevel::debug, error.what());
  return {};
}

}  // namespace exprun
