// Evaluations of a run that is over, on one of its checkpoints: what `exprun eval` and `exprun
// sample` ask for.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/files/run_folder.h"
#include "engine/pipeline.h"

namespace exprun {

// What an evaluation sees of a pipeline after `step` updates.
EvaluationContext context_of(const Pipeline& pipeline, int64_t step,
                             std::function<bool()> stop_requested);

// Nothing where a stop was requested. Other work than training has sizes of its own: a CPU's
// memory that is kept for them is given back before and after it.
std::optional<EvaluationResult> evaluate(const NamedEvaluation& named,
                                         const EvaluationContext& context);

// From {"recipe": RecipeText, "only": NAME or null} to {"step": N, "metrics": {series: value},
// "texts": {evaluation: text}}. Throws RecipeError, Error; also where a stop was requested.
nlohmann::json evaluate_run(const RunFolder& run, const std::filesystem::path& checkpoint,
                            const std::string& request);

}  // namespace exprun
