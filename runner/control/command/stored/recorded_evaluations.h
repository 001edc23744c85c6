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

// Why its results are not to be recorded, and what to do; empty if they are.
std::string why_not_recorded(const Store& store, const RunRow& run, const Evaluated& evaluated);

// Shown by report. What another command has recorded meanwhile may keep them from being recorded:
// that is said.
void record_evaluations(Store& store, const RunRow& run, const Evaluated& evaluated,
                        const nlohmann::ordered_json& results);

}  // namespace exprun
