// The results of `eval` in the store. A run's own evaluations, as its recipe has them, are
// eval/METRIC. Of all others, what they were measured with is an event of the run (FORMAT.md), and
// results of other settings under the same name are not recorded, in any run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "recipe/resolved.h"
#include "store/store.h"

namespace exprun {

struct Evaluated {
  const ResolvedRecipe& own;  // of the run
  const ResolvedRecipe& now;  // with the changes of the command line
  std::string name;           // for eval/NAME/METRIC; may be empty
};

// Shown by report. Results that are not recorded have been printed all the same: says why.
void record_evaluations(Store& store, const RunRow& run, const Evaluated& evaluated,
                        const nlohmann::ordered_json& results);

}  // namespace exprun
