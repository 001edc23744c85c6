// config.json of HuggingFace's transformers, as keys of [model] and back.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/section.h"

namespace exprun {

inline constexpr const char* kConfigFile = "config.json";
// The recipe of the run, in a folder that exprun exported.
inline constexpr const char* kExportedRecipe = "recipe.toml";

// The keys of a `gpt` below [model], and their values: {"norm.eps", 1e-6}.
using ModelKeys = std::vector<std::pair<std::string, nlohmann::json>>;

// Throws Error that names the file: it is not there, no JSON object, or has a name twice.
nlohmann::json read_config(const std::filesystem::path& file);

// "llama"; empty if it does not say.
std::string model_type_of(const nlohmann::json& config);

// The model that a config.json describes. Throws Error that names the file and everything in it
// that `gpt` is not.
ModelKeys model_keys(const nlohmann::json& config, const std::filesystem::path& file);

// The reverse: the config.json of a model, and which of its parts transformers has no architecture
// for, as keys of the recipe; if there are any, there is no config.
struct ModelConfig {
  nlohmann::ordered_json config;
  std::string model_type;  // "gpt2", "llama", "mistral", "qwen3", "olmo2"
  std::vector<std::string> obstacles;
};

// `dtype` is that of its weights: "float32".
ModelConfig model_config(const Section& model, std::string_view dtype);

}  // namespace exprun
