// Evaluations: of a run that trains, and of weights that are only looked at (`exprun eval`).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/inference/loaded_model.h"

namespace exprun {

// What an evaluation sees of a pipeline after `step` updates.
EvaluationContext context_of(const Pipeline& pipeline, int64_t step,
                             std::function<bool()> stop_requested);

// Nothing where a stop was requested. Other work than training has sizes of its own: a CPU's
// memory that is kept for them is given back before and after it.
std::optional<EvaluationResult> evaluate(const NamedEvaluation& named,
                                         const EvaluationContext& context);

// All evaluations of its recipe: {"step": N, "metrics": {series: value}, "texts": {evaluation:
// text}, "problems": {evaluation: why there is no text}}. Throws RecipeError, Error; also where a
// stop was requested.
nlohmann::json evaluate_run(const LoadedModel& loaded);

}  // namespace exprun
