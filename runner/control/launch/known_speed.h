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
  // Of a step, beside its computation: evaluations, checkpoints and a share of the start.
  std::optional<double> other_seconds;
};

// That of the fastest run on this host, among the newest of the store, with the same model, batch,
// precision, parallelism, device, threads and types of optimizer; their other keys, the data and
// the length do not change the speed. What else steps take is the least of those that evaluated and
// saved alike, trained to their end in one attempt, and had at least half of `steps`.
std::optional<KnownSpeed> known_speed(const Store& store, const ResolvedRecipe& recipe,
                                      std::optional<int64_t> steps);

// Recipes of one text with the same key have the same answer: the overrides that change it, for it
// is asked of each trial of a sweep.
std::string speed_key(const ResolvedRecipe& recipe);

}  // namespace exprun
