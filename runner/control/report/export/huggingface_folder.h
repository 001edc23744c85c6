// What stands beside the weights in a folder that HuggingFace's transformers loads: config.json,
// generation_config.json, the tokenizer's files, and a model card.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "control/report/compare/criterion.h"
#include "control/report/runs_table.h"
#include "huggingface/model_config.h"
#include "recipe/resolved.h"
#include "text/prepared_data.h"

namespace exprun {

struct ExportedModel {
  const RunRow& run;
  std::vector<SeriesRow> series;  // of the run
  Criterion criterion;            // by its recipe
  const ResolvedRecipe& recipe;
  const PreparedData& data;
  const ModelConfig& config;  // without one: no architecture of transformers is this model
  int64_t step = 0;
  std::string dtype;  // "float32"
  std::string command_line;
  // Where the run's vocabulary was read from: what that folder says beside it is copied.
  std::optional<std::filesystem::path> vocabulary;
  bool is_adapter = false;  // alone, for peft, beside the weights that the run began with
};

// Writes them into a folder that is there, of an adapter the model card alone. Returns warnings
// where the run's tokenizer has no form that transformers reads, or its folder has another one by
// now, or damaged files beside it. Throws Error.
std::vector<std::string> write_huggingface_files(const ExportedModel& model,
                                                 const std::filesystem::path& folder);

}  // namespace exprun
