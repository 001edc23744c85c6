#include "control/sweep/run/preflight.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/strings.h"
#include "control/launch/component_refusals.h"
#include "control/launch/machine_problems.h"
#include "control/launch/run/run_data.h"
#include "control/launch/trainer_program.h"
#include "control/launch/weights/initial_weights.h"
#include "control/sweep/axis_mistakes.h"
#include "control/sweep/outcomes.h"
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

// Whether the trainer can tell: where only the data say how many tokens there are, it cannot yet.
bool has_weights_to_fit(const ResolvedRecipe& recipe) {
  return recipe.find("model.init_from") && integer_at(recipe.root(), "model.vocab_size");
}

}  // namespace

std::vector<FileLock> find_initial_weights(SweepPlan& plan, const StoreFolder& folder,
                                           DatasetGlances& glances) {
  std::vector<const ResolvedRecipe*> recipes;
  for (const Trial& trial : plan.trials)
    if (has_initial_weights(trial.resolved)) recipes.push_back(&trial.resolved);
  if (recipes.empty()) return {};
  WeightsByWords weights = initial_weights_of(recipes, folder);
  std::set<std::string> hashes;
  std::vector<Trial> different;  // two words may mean one checkpoint
  for (Trial& trial : plan.trials) {
    if (has_initial_weights(trial.resolved)) {
      trial.text = with_initial_weights(std::move(trial.text), trial.resolved, weights);
      trial.resolved = resolve(trial.text, glances.of(trial.resolved).dataset_info);
    }
    if (!hashes.insert(trial.resolved.hash()).second) continue;
    trial.number = static_cast<int64_t>(different.size()) + 1;
    different.push_back(std::move(trial));
  }
  plan.trials = std::move(different);
  std::vector<FileLock> locks;
  for (auto& [words, held] : weights)
    if (held.lock) locks.push_back(std::move(*held.lock));
  return locks;
}

namespace {

// The runs, not their sweep: those that this one shares with another are not removed with it.
std::string removal_of(const StoreFolder& folder, const std::vector<RunRow>& runs) {
  std::string command = "exprun rm";
  for (const RunRow& run : runs) command += ' ' + run.folder;
  return command + store_option(folder);
}

// "a trial was", "3 trials were"
std::string were(size_t trials) {
  return trials == 1 ? "a trial was" : pluralize(static_cast<int64_t>(trials), "trial") + " were";
}

std::string names_of(const std::vector<RunRow>& runs) {
  std::string names;
  for (const RunRow& run : runs) names += (names.empty() ? "" : ", ") + run.folder;
  return names;
}

// What to say of runs; empty for none.
std::string trained_on_other_data(const StoreFolder& folder, const std::vector<RunRow>& runs) {
  if (runs.empty()) return "";
  return "the data that the recipe names is not what " + were(runs.size()) + " trained on (" +
         names_of(runs) + "); restore it, or remove what was trained: `" +
         removal_of(folder, runs) + "`, and the same command trains it again";
}

std::string go_on_with_their_own(const std::vector<RunRow>& runs) {
  if (runs.empty()) return "";
  const std::string began = " began with (" + names_of(runs) + "); ";
  return "the data that the recipe names is not what " +
         (runs.size() == 1 ? "a trial" + began + "it goes on with its own"
                           : pluralize(static_cast<int64_t>(runs.size()), "trial") + began +
                                 "they go on with their own") +
         ", and new trials train on what the recipe names";
}

std::string trained_on_unknown_data(const std::vector<RunRow>& runs) {
  if (runs.empty()) return "";
  return "the data that the recipe names cannot be read, so nothing tells whether " +
         were(runs.size()) + " trained on it (" + names_of(runs) +
         "), and other runs of the same recipe were trained on other data; " + kDataPrepareTells;
}

}  // namespace

void identify_data(SweepPlan& plan, const Store& store, const StoreFolder& folder,
                   DatasetGlances& glances) {
  for (Trial& trial : plan.trials)
    if (const auto runs = runs_of(store, folder, trial); !runs.empty())
      trial.data_fingerprint = glances.fingerprint_of(
          trial.resolved, differ_in_data(runs) ? Reading::all : Reading::little);
}

OtherData other_data(const Store& store, const StoreFolder& folder, const SweepPlan& plan,
                     bool retry_failed) {
  std::vector<RunRow> of_any, cannot_go_on, ended, go_on;
  for (const Trial& trial : plan.trials) {
    const WhichRun which = standing(store, folder, trial);
    const bool goes_on = which.decision == Decision::continue_run;
    if (!which.run || which.decision == Decision::refuse_running ||
        (!goes_on && may_start(which, retry_failed)))
      continue;
    if (!trial.data_fingerprint && differ_in_data(runs_of(store, folder, trial)))
      of_any.push_back(*which.run);
    const RunFolder run_folder = folder.run(which.run->folder);
    if (!has_other_data(trial.resolved, trial.data_fingerprint, *which.run, run_folder)) continue;
    const bool has_its_own =
        goes_on && recorded_data(*which.run, run_folder, NewSources::are_left_out,
                                 [&] { return source_files(trial.resolved); });
    std::vector<RunRow>& runs = !goes_on ? ended : has_its_own ? go_on : cannot_go_on;
    runs.push_back(*which.run);
  }
  return {trained_on_other_data(folder, cannot_go_on), trained_on_other_data(folder, ended),
          go_on_with_their_own(go_on), trained_on_unknown_data(of_any)};
}

void require_startable(const std::vector<const Trial*>& trials, const StoreFolder& folder,
                       DatasetGlances& glances) {
  constexpr size_t kMostBuilt = 16;
  std::set<std::string> inputs, asked, built;  // what was looked at, and the models among it
  std::set<Said> said_before;
  Diagnostics mistakes;
  const std::string usual = trials.empty() ? "" : components_of(trials.front()->resolved);
  const bool chooses = std::ranges::any_of(
      trials, [&](const Trial* trial) { return components_of(trial->resolved) != usual; });
  const Hardware hardware = this_hardware();
  for (const Trial* trial : trials) {
    const ResolvedRecipe& recipe = trial->resolved;
    const DataGlance& data = glances.of(recipe);
    Diagnostics problems;
    const auto add = [&](const Diagnostics& more) {
      problems.insert(problems.end(), more.begin(), more.end());
    };
    add(machine_problems(recipe, hardware));
    const bool has_new_inputs = inputs.insert(inputs_of(recipe)).second;
    if (has_new_inputs) {
      add(data.problems);
      add(glances.evaluation_problems_of(recipe));
      add(initial_weights_problems(recipe, folder));
    }
    if (!has_errors(problems) && (chooses || may_be_refused(recipe)) && built.size() < kMostBuilt &&
        built.insert(components_of(recipe)).second)
      add(component_refusals(trial->text, data.dataset_info));
    if (has_new_inputs && !has_errors(problems) && has_weights_to_fit(recipe) &&
        asked.insert(model_of(recipe)).second)
      add(problems_of_weights(trial->text, data.dataset_info));
    for (Diagnostic& problem : at_axes(std::move(problems), trial->point, trial->text))
      if (problem.severity == Severity::error && said_before.insert(said(problem)).second)
        mistakes.push_back(std::move(problem));
  }
  if (!mistakes.empty()) throw RecipeError(first_of(std::move(mistakes)));
}

}  // namespace exprun
