// The trials of a sweep, planned before the first of them starts: every point of the space is a
// recipe of its own, and its hash says whether it has been run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/launch/launch.h"

namespace exprun {

struct Trial {
  int64_t number = 0;                // from 1
  std::vector<std::string> changes;  // "lr=0.001": the point, as it was written
  RecipeText text;
  ResolvedRecipe resolved;
};

struct SweepPlan {
  std::vector<Trial> trials;
  std::string method = "grid";
  std::string metric = "val/loss";
  bool maximize = false;
};

// The axes of the recipe's [sweep] and those of `arguments`, which win. Points that come to the
// same recipe are one trial. Throws RecipeError, also for a point whose recipe is wrong, and Error
// (wrong usage) when there is nothing to sweep.
SweepPlan plan_sweep(const RecipeText& recipe, const std::vector<std::string>& arguments);

// "lr=0.001 num_layers=4"
std::string label(const Trial& trial);

// Canonical, for Store::find_or_create_sweep: the same trials are the same sweep, however their
// values are written.
std::string space_json(const SweepPlan& plan);

}  // namespace exprun
