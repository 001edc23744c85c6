// The tokenizers of recipes that are read from files: gpt2 and huggingface.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "recipe/section.h"
#include "text/tokenizer.h"

namespace exprun {

// Where a vocabulary is to be had that could not be read.
std::string vocabulary_remedy(const std::string& tokenizer);

// Throws RecipeError at `vocabulary`: it cannot be read, or gpt2 is asked for and it is another.
std::unique_ptr<Tokenizer> load_named_tokenizer(const Section& dataset,
                                                const std::string& tokenizer,
                                                const std::filesystem::path& vocabulary);

}  // namespace exprun
