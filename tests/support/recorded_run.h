// A recorded training run of nanoGPT, and the pipeline that replays it: its weights, batches and
// settings, our components.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/pipeline.h"
#include "recipe/resolved.h"
#include "support/temporary_folder.h"

namespace exprun {

struct RecordedRun {
  nlohmann::json curve;       // settings and results
  nlohmann::json tolerances;  // of what is compared
  std::filesystem::path init;
  std::filesystem::path order;
  std::filesystem::path text;
};

// parity/nanogpt_char of the fixtures, or nothing if the test is to be skipped.
std::optional<RecordedRun> recorded_run();

// A pipeline with the recorded initial weights, and what must outlive it.
struct ReplayedRun {
  // `more`: TOML lines after the recorded settings.
  explicit ReplayedRun(const RecordedRun& recorded, const std::string& more = "");

  TemporaryFolder folder;
  SchemaSet schemas;
  PreparedData data;
  ResolvedRecipe recipe;
  Pipeline pipeline;
};

}  // namespace exprun
