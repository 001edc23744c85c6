// [model] init_from, before a run begins: whether there is something to begin with.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/file_lock.h"
#include "control/launch/store_folder.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "text/prepared_data.h"

namespace exprun {

// A recipe and, where its init_from names a checkpoint, the lock that keeps the run that this
// belongs to from removing it as one of its old ones.
struct HeldRecipe {
  RecipeText text;
  std::optional<FileLock> weights;
};

// The recipe with the run of the store that init_from means, as other commands do (its name, its
// folder, @last, @best), replaced by the path of a checkpoint: of @best the best one, of any other
// run the newest; the one of before where the same recipe has begun a run already, unless a run is
// to begin `anew`. What is a path already, or no run, stays, and so do the words of one that is
// damaged.
HeldRecipe with_checkpoint_of_run(RecipeText text, const StoreFolder& folder, bool anew = false);

// The same for recipes that begin together, as the trials of a sweep.

bool has_initial_weights(const ResolvedRecipe& recipe);

struct HeldWeights {
  std::string path;
  std::optional<FileLock> lock;  // of a checkpoint
};
using WeightsByWords = std::map<std::string, HeldWeights>;  // by what init_from says

// All of them mean the same by the same words: the checkpoint of before where any of the recipes
// has begun a run already. What is no run and no path is left out. For recipes that have initial
// weights and whose [run] and [model] are sound.
WeightsByWords initial_weights_of(const std::vector<const ResolvedRecipe*>& recipes,
                                  const StoreFolder& folder, bool anew = false);

// The text of `recipe` with the path that was found.
RecipeText with_initial_weights(RecipeText text, const ResolvedRecipe& recipe,
                                const WeightsByWords& weights);

// The same lock, of a recipe whose init_from is a path; nothing where that is no checkpoint.
std::optional<FileLock> hold_initial_weights(const ResolvedRecipe& recipe);

// Whether init_from may mean a run, which only its store can tell.
bool may_begin_with_run(const ResolvedRecipe& recipe);

// An error at init_from where nothing lies there, a damaged checkpoint does, or a run's folder,
// whose help has the path of its newest checkpoint. For recipes whose [model] is sound.
Diagnostics initial_weights_problems(const ResolvedRecipe& recipe, const StoreFolder& folder);

}  // namespace exprun
