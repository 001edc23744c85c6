// Weights that are looked at and not trained: of a checkpoint of a run, or those that [model]
// init_from names. For what `exprun eval` and `exprun sample` ask for.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files/run_folder.h"
#include "engine/pipeline.h"

namespace exprun {

class LoadedModel {
 public:
  enum class Purpose { evaluation, generation };

  // Uses the device, the threads and the kernels that the recipe and the checkpoint ask for. From
  // {"recipe": RecipeText, ...}, with the run's data; without a checkpoint the recipe has
  // init_from. The request also has "tokenizer", as Tokenizer::to_json writes it, where the data
  // have none, or null, and "data", PreparedData that stands for the run's, or null. To generate
  // text there are no evaluations, and the tokens of the data may be gone. Throws RecipeError,
  // Error.
  LoadedModel(Purpose purpose, const nlohmann::json& request, const RunFolder& run,
              const std::optional<std::filesystem::path>& checkpoint);
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const ResolvedRecipe& recipe() const { return recipe_; }
  const Pipeline& pipeline() const { return *pipeline_; }  // its evaluations, too
  int64_t step() const { return step_; }                   // of the checkpoint; else 0

 private:
  PreparedData data_;
  ResolvedRecipe recipe_;
  int64_t step_ = 0;
  std::optional<Pipeline> pipeline_;
};

}  // namespace exprun
