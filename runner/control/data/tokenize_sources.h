// From documents to shards: several threads tokenize, one reads and writes.
#pragma once

#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "control/data/read/document_chunks.h"
#include "control/data/text_options.h"
#include "recipe/section.h"
#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {

// Of an unfinished folder: where to go on. It is no part of the data.
inline constexpr const char* kProgressFile = "progress.json";

struct TokenizeJob {
  const Section& dataset;
  const TextOptions& options;
  const std::vector<RawSource>& sources;
  const Tokenizer& tokenizer;
  std::shared_future<std::string> fingerprint;  // until it is known no place to go on from is saved
  std::filesystem::path folder;                 // an unfinished one is gone on with
  size_t threads = 1;
  double save_seconds = 10;
};

// Of the work that was begun in the folder: nothing where none was, empty before the first place to
// go on from.
std::optional<std::string> fingerprint_of_begun(const std::filesystem::path& folder);

// The shards, with names in the folder, and what they were made from. Throws RecipeError, for a
// split without a token too, and Error.
PreparedData tokenize_sources(const TokenizeJob& job);

}  // namespace exprun
