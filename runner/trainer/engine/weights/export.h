// The weights of a checkpoint for other systems: what `exprun export --huggingface` asks for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files/run_folder.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/weights/tensor_plan.h"

namespace exprun {

// Writes model.safetensors, or several files of at most `most_bytes` (a tensor is never cut) and
// model.safetensors.index.json, into a folder that is there. Returns the names of what it wrote.
std::vector<std::string> write_weights(const TensorPlan& plan, const ByName& ours,
                                       at::ScalarType dtype, const std::filesystem::path& folder,
                                       size_t most_bytes);

// From {"recipe": RecipeText, "folder": DIR, "dtype": "float32" | "bfloat16" | "float16",
// "model_type": TYPE, kLlmc for its one file model.bin, or null for the names of ours, "adapter":
// whether the adapter alone is written (engine/weights/adapter.h); it is merged otherwise} to
// {"step": N, "tensors": N, "files": [NAME]}. Throws RecipeError, Error.
nlohmann::json export_weights(const RunFolder& run, const std::filesystem::path& checkpoint,
                              const std::string& request);

}  // namespace exprun
