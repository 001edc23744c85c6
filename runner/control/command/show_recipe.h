// What `exprun show` prints of a recipe.
#pragma once

#include <optional>
#include <string>

#include "control/sweep/trials.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"

namespace exprun {

// A recipe, or the first trial of one that is a sweep.
struct Shown {
  RecipeText text;
  std::string title;         // "quickstart.toml lr=3e-4", or the run's folder
  DatasetInfo dataset_info;  // of a run
  std::optional<SweepPlan> sweep;
};

// "3 trials, the first of which is shown".
std::string counted_trials(const SweepPlan& plan);

// The number of trials and the axes, as comments above the first trial.
std::string sweep_as_comments(const SweepPlan& plan);

// Every key with its value and the place that it comes from.
std::string recipe_with_origins(const ResolvedRecipe& recipe, const Shown& shown);

// Hash and recipe; each key's place too where `origins`.
std::string recipe_json(const ResolvedRecipe& recipe, const Shown& shown, bool origins);

// Prints the keys in which two are different experiments.
void print_difference(const ResolvedRecipe& a, const ResolvedRecipe& b, const std::string& name_a,
                      const std::string& name_b, bool json);

}  // namespace exprun
