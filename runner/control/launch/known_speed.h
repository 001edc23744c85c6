// How fast a recipe trains on this machine, as an earlier run of the store tells.
#pragma once

#include <optional>
#include <string>

#include "recipe/resolved.h"
#include "store/store.h"

namespace exprun {

struct KnownSpeed {
  double tokens_per_second = 0;  // the median over its steps
  std::string run;               // its folder
};

// The newest run on this host with the same model, batch, precision, parallelism, device, threads
// and types of optimizer; their other keys, the data and the length do not change the speed.
std::optional<KnownSpeed> known_speed(const Store& store, const ResolvedRecipe& recipe);

}  // namespace exprun
