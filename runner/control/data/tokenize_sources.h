// From documents to shards: several threads tokenize, one reads and writes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "control/data/document_chunks.h"
#include "control/data/text_options.h"
#include "recipe/section.h"
#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {

struct TokenizeJob {
  const Section& dataset;
  const TextOptions& options;
  const std::vector<RawSource>& sources;
  const Tokenizer& tokenizer;
  std::string fingerprint;
  std::filesystem::path folder;  // an unfinished one is gone on with
  size_t threads = 1;
  double save_seconds = 10;
};

// The shards, with names in the folder, and what they were made from. Throws RecipeError, Error.
PreparedData tokenize_sources(const TokenizeJob& job);

}  // namespace exprun
