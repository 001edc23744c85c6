// What stands beside the weights in a folder that HuggingFace's transformers loads: config.json,
// generation_config.json, the tokenizer's files, and a model card.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "control/report/runs_table.h"
#include "huggingface/model_config.h"
#include "recipe/resolved.h"
#include "text/prepared_data.h"

namespace exprun {

struct ExportedModel {
  const ReportedRun& run;
  const ResolvedRecipe& recipe;
  const PreparedData& data;
  const ModelConfig& config;  // without one: no architecture of transformers is this model
  int64_t step = 0;
  std::string dtype;  // "float32"
  std::string command_line;
};

// Writes them into a folder that is there. Returns a warning where the run's tokenizer has no form
// that transformers reads. Throws Error.
std::optional<std::string> write_huggingface_files(const ExportedModel& model,
                                                   const std::filesystem::path& folder);

}  // namespace exprun
