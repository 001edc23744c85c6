#include "control/sweep/startable.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.h"
#include "control/launch/run/initial_weights.h"
#include "control/launch/trainer_program.h"
#include "control/sweep/axis_mistakes.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

// All that names files.
std::string inputs_of(const ResolvedRecipe& recipe) {
  std::string inputs;
  for (const char* table : {"dataset", "evaluation", "model"})
    if (const Value* value = recipe.find(table)) inputs += toml_text(*value) + '\n';
  return inputs;
}

// What the shapes of a model may depend on.
std::string model_of(const ResolvedRecipe& recipe) {
  std::string model;
  for (const auto& [path, value] : recipe.leaves(false))
    if (path.starts_with("model.") && !path.ends_with("dropout"))
      model += path + "=" + value + '\n';
  return model;
}

// Choices of components, which decide whether they fit together. A number hardly does, and sweeps
// have many.
std::string components_of(const ResolvedRecipe& recipe) {
  std::string components;
  for (const auto& [path, value] : recipe.leaves(false))
    if ((path.starts_with("model.") || path.starts_with("optimizer.")) && !value.empty() &&
        std::strchr("\"[{", value[0]))
      components += path + "=" + value + '\n';
  return components;
}

// What the components of a trial refuse, as far as that is known before its data are prepared.
Diagnostics refusals_of(const Trial& trial, const DatasetInfo& dataset_info) try {
  const Resolution resolution = try_resolve(trial.text, dataset_info);
  const Table& root = resolution.recipe.root();
  if (!integer_at(root, "model.vocab_size") || !run_steps(root, dataset_info)) return {};
  return describe(trial.text, dataset_info, !resolution.recipe.find("model.init_from")).refusals;
} catch (const Error& error) {  // each trial will say so
  log(LogLevel::debug, error.what());
  return {};
}

// Whether the trainer can tell: where only the data say how many tokens there are, it cannot yet.
bool has_weights_to_fit(const ResolvedRecipe& recipe) {
  return recipe.find("model.init_from") && integer_at(recipe.root(), "model.vocab_size");
}

}  // namespace

void require_startable(const std::vector<const Trial*>& trials, const StoreFolder& folder) {
  DatasetGlances glances(folder.data());
  constexpr size_t kMostBuilt = 16;
  std::set<std::string> inputs, asked, built;  // what was looked at, and the models among it
  std::set<Said> said_before;
  Diagnostics mistakes;
  const std::string usual = trials.empty() ? "" : components_of(trials.front()->resolved);
  const bool chooses = std::ranges::any_of(
      trials, [&](const Trial* trial) { return components_of(trial->resolved) != usual; });
  for (const Trial* trial : trials) {
    const ResolvedRecipe& recipe = trial->resolved;
    const DataGlance& data = glances.of(recipe);
    Diagnostics problems;
    const auto add = [&](const Diagnostics& more) {
      problems.insert(problems.end(), more.begin(), more.end());
    };
    const bool has_new_inputs = inputs.insert(inputs_of(recipe)).second;
    if (has_new_inputs) {
      add(data.problems);
      add(evaluation_file_problems(recipe));
      add(initial_weights_problems(recipe, folder));
    }
    if (!has_errors(problems) && chooses && built.size() < kMostBuilt &&
        built.insert(components_of(recipe)).second)
      add(refusals_of(*trial, data.dataset_info));
    if (has_new_inputs && !has_errors(problems) && has_weights_to_fit(recipe) &&
        asked.insert(model_of(recipe)).second)
      add(problems_of_weights(trial->text));
    for (Diagnostic& problem : at_axes(std::move(problems), trial->point, trial->text))
      if (problem.severity == Severity::error && said_before.insert(said(problem)).second)
        mistakes.push_back(std::move(problem));
  }
  if (!mistakes.empty()) throw RecipeError(first_of(std::move(mistakes)));
}

}  // namespace exprun
