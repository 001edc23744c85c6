// Evaluations of a run on its newest intact checkpoint, by the trainer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "control/launch/store_folder.h"
#include "recipe/recipe_text.h"
#include "store/rows.h"

namespace exprun {

// {"step": N, "metrics": {series: value}, "texts": {evaluation: text}}. `text` is the run's
// recipe, changed in [evaluation] only, and judged already; `only` is the name of one evaluation,
// or empty for all. Nothing if the trainer refused the recipe: its diagnostics are on standard
// error already. Throws Error where no checkpoint is intact.
std::optional<nlohmann::ordered_json> evaluate(const StoreFolder& folder, const RunRow& run,
                                               const RecipeText& text, const std::string& only);

}  // namespace exprun
