// A folder of HuggingFace's (config.json, weights, tokenizer) as a part of a recipe.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe_text.h"
#include "recipe/resolved.h"

namespace exprun {

// Whether it is a folder with a config.json.
bool is_huggingface_folder(const std::filesystem::path& folder);

// "; transformers has no architecture for ..." of a folder that `exprun export` wrote without a
// config.json, and how its weights are used; "" of any other.
std::string advice_on_own_tensors(const std::filesystem::path& folder);

// Keys of [model], and their values as TOML, init_from among them; "norm.eps" becomes norm = {eps =
// ...}. Throws Error that names what exprun's model is not.
std::map<std::string, std::string> model_keys_of(const std::filesystem::path& folder);

// The file or folder of its tokenizer: a tokenizer.json, or the two of GPT-2's kind; nothing where
// it has none that exprun reads.
std::optional<std::filesystem::path> tokenizer_of(const std::filesystem::path& folder);

// The recipe of the run that exprun exported into the folder; nothing where none can be read.
std::optional<ResolvedRecipe> exported_recipe(const std::filesystem::path& folder);

// The template of the instructions that it was trained on, as the recipe of its run says; nothing
// where there is none.
std::optional<std::string> template_of(const std::filesystem::path& folder);

// The format of its weights, as its config.json says: "fp32", "bf16" or "fp16".
std::string dtype_of(const std::filesystem::path& folder);

// What a folder says of sampling, by key of [evaluation.sample] as a recipe writes it: temperature,
// top_k and top_p of its generation_config.json, and the system message of the run that it was
// exported from. What it leaves out, or cannot be read, is not in it.
std::map<std::string, std::string> sampling_of(const std::filesystem::path& folder);

// A recipe for looking at its weights: it has no data. Instructions are asked in the folder's
// template_of(). Throws as model_keys_of().
RecipeText recipe_of_model(const std::filesystem::path& folder);

}  // namespace exprun
