#include "control/launch/component_refusals.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "control/launch/trainer_program.h"
#include "recipe/quantities.h"
#include "recipe/schema/schema.h"

namespace exprun {
namespace {

// Of one that only the data tell: no component asks how large it is.
constexpr int64_t kSomeVocabulary = 256;

// Those that name parameters of the model.
constexpr std::array kRefusedKeys = {"optimizer.frozen", "model.lora.targets", "model.lora.trained",
                                     "model.initialization.zero"};

}  // namespace

bool may_be_refused(const ResolvedRecipe& recipe) {
  const Value* groups = recipe.find("optimizer.groups");
  const Table* named = groups == nullptr ? nullptr : groups->as<Table>();
  if (named != nullptr && !named->entries().empty()) return true;
  const auto is_written = [&](const char* key) {
    const Value* value = recipe.find(key);
    return value != nullptr && value->origin != Origin::default_value;
  };
  if (std::ranges::any_of(kRefusedKeys, is_written)) return true;
  const auto type = text_at(recipe.root(), "optimizer.type");
  return type && recipe.schemas().find("optimizer", *type)->contains("x-updates");
}

Diagnostics component_refusals(const RecipeText& text, const DatasetInfo& dataset_info) try {
  const Resolution resolution = try_resolve(text, dataset_info);
  const Table& root = resolution.recipe.root();
  const bool loads_weights = resolution.recipe.find("model.init_from") != nullptr;
  const bool has_vocabulary = integer_at(root, "model.vocab_size").has_value();
  if (has_vocabulary && run_steps(root, dataset_info))
    return describe(text, dataset_info, !loads_weights).refusals;
  if (loads_weights) return {};
  DatasetInfo imagined = dataset_info;
  if (!has_vocabulary) imagined.vocab_size = kSomeVocabulary;
  return problems_of_weights(text, imagined);
} catch (const Error& error) {
  log(LogLevel::debug, error.what());
  return {};
}

}  // namespace exprun
