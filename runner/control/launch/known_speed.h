// How fast a recipe trains on this machine, as earlier runs of the store tell.
#pragma once

#include <optional>
#include <string>

#include "recipe/resolved.h"
#include "store/store.h"

namespace exprun {

struct KnownSpeed {
  double tokens_per_second = 0;  // the median over its steps
  std::string run;               // its folder
  // Beside the steps: start, evaluations, checkpoints. Nothing unless a run of at least half the
  // length trained to its end in one attempt.
  std::optional<double> other_seconds;
};

// That of the fastest run on this host, among the newest of the store, with the same model, batch,
// precision, parallelism, device, threads and types of optimizer; their other keys, the data and
// the length do not change the speed.
std::optional<KnownSpeed> known_speed(const Store& store, const ResolvedRecipe& recipe);

// Recipes of one text with the same key have the same runs there: the overrides that change the
// speed, for it is asked of each trial of a sweep.
std::string speed_key(const ResolvedRecipe& recipe);

}  // namespace exprun
