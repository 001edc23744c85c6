// What [dataset] of type "text" asks for: which documents, which tokens, which split.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "control/data/read/document_chunks.h"
#include "recipe/section.h"

namespace exprun {

struct TextOptions {
  std::string format;  // auto, text, json_lines, json
  std::string text_template, fallback_template;
  std::string tokenizer, vocabulary;
  std::string separator;
  bool keep_separator = false;
  std::string end_of_text;  // auto, none, before, after
  double validation_fraction = 0;
  int64_t validation_tokens = 0, validation_every = 0;
  int64_t shard_tokens = 0;
  int64_t block_tokens = 0, block_documents = 0;

  // All that decides which tokens come out, the vocabulary's place left out.
  nlohmann::json to_json() const;
  // The same with the way in which data are prepared, and the formats that "auto" found by the
  // names of the sources: part of what they are known by.
  std::string identity(const std::vector<RawSource>& sources) const;
};

// One rule of validation, which leaves out the default of validation_fraction. Throws RecipeError
// where two are written.
TextOptions text_options(const Section& dataset, bool fraction_written);

}  // namespace exprun
