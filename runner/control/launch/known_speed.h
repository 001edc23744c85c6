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
  // Of that run, beside its steps: start, evaluations, checkpoints. 0 unless it trained to its end
  // in one attempt.
  double other_seconds = 0;
};

// The newest run on this host with the same model, batch, precision, parallelism, device, threads
// and types of optimizer; their other keys, the data and the length do not change the speed.
std::optional<KnownSpeed> known_speed(const Store& store, const ResolvedRecipe& recipe);

// The fastest of such runs, among the newest of the store.
std::optional<KnownSpeed> fastest_speed(const Store& store, const ResolvedRecipe& recipe);

// Recipes of one text with the same key have the same runs there: the overrides that change the
// speed, for it is asked of each trial of a sweep.
std::string speed_key(const ResolvedRecipe& recipe);

}  // namespace exprun
