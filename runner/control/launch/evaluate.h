// Evaluations of a run on its newest checkpoint, by the trainer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "store/store.h"

namespace exprun {

// {"step": N, "metrics": {series: value}, "texts": {evaluation: text}}. `overrides` change the
// run's recipe in [evaluation] only; `only` is the name of one evaluation, or empty for all.
// Nothing if the trainer refused the recipe: its diagnostics are on standard error already. Throws
// Error where there is no checkpoint.
std::optional<nlohmann::ordered_json> evaluate(const Store& store, const StoreFolder& folder,
                                               const RunRow& run,
                                               const std::vector<std::string>& overrides,
                                               const std::string& only);

}  // namespace exprun
