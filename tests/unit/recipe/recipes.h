// Recipes made of text, for tests.
#pragma once

#include <string>
#include <vector>

#include "recipe/resolved.h"
#include "recipe/toml/write.h"

namespace exprun {

inline RecipeText recipe_text(const std::string& text, std::vector<std::string> overrides = {},
                              const std::string& name = "recipes/tiny.toml") {
  RecipeText recipe;
  recipe.files.push_back(std::make_shared<SourceFile>(SourceFile{name, text}));
  recipe.overrides = std::move(overrides);
  return recipe;
}

// The shortest recipe that is valid.
inline const std::string kTinyRecipe = R"([run]
steps = 100

[model]
type = "gpt"
num_layers = 2
num_heads = 2
hidden_size = 32
context_length = 16

[dataset]
type = "text"
path = "data/*.txt"

[batch]
sequences = 8

[optimizer]
type = "adamw"
lr = 3e-4
)";

inline ResolvedRecipe resolve_tiny(std::vector<std::string> overrides = {},
                                   const DatasetInfo& dataset_info = {}) {
  return resolve(recipe_text(kTinyRecipe, std::move(overrides)), dataset_info);
}

// As TOML; "absent" where a recipe has none.
inline std::string value_at(const ResolvedRecipe& recipe, const std::string& path) {
  const Value* found = recipe.find(path);
  return found == nullptr ? "absent" : toml_text(*found);
}

// The rendered error of a recipe, or empty.
inline std::string error_of(const RecipeText& text, const DatasetInfo& dataset_info = {}) {
  try {
    resolve(text, dataset_info);
    return "";
  } catch (const RecipeError& error) {
    return error.what();
  }
}

}  // namespace exprun
