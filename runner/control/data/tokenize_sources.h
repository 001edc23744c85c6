// From documents to shards: several threads tokenize, one reads and writes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/dataset_info.h"
#include "base/files/atomic_folder.h"
#include "control/data/input_files.h"
#include "control/data/text_sources.h"
#include "recipe/section.h"
#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {

// Of an unfinished folder: where to go on. It is no part of the data.
inline constexpr const char* kProgressFile = "progress.json";

struct TokenizeJob {
  const Section& dataset;
  const TextOptions& options;
  const InputFiles& inputs;
  const Tokenizer& tokenizer;
  std::filesystem::path folder;  // what was begun there of the same inputs is gone on with
  size_t threads = 1;
  double save_seconds = 10;
};

// InputFiles::key of the work that was begun in the folder: nothing where none was, empty before
// the first place to go on from.
std::optional<std::string> key_of_begun(const std::filesystem::path& folder);

struct TokenizedSources {
  PreparedData data;  // shards with names in the folder, what they were made from, the fingerprint
  FileHashes hashes;  // of what is durable: the vocabulary, shards that this process ended
};

// Throws RecipeError, for a split without a token too, and Error.
TokenizedSources tokenize_sources(const TokenizeJob& job);

// Names these sources, as they are written, as what the data were made from: relative paths are
// below the working directory. Data that were made from other files may hold the same content.
void name_sources(PreparedData& data, const InputFiles& inputs);

// What tokenize_sources() would say of characters that the tokenizer lacks, and nothing is written.

// Of the template, which is in no file whose line could be named. Throws RecipeError.
void require_tokens_for_template(const Section& dataset, const TextOptions& options,
                                 const Tokenizer& tokenizer);

// Reads and tokenizes all sources. Throws RecipeError.
void require_tokens_for_texts(const TextOptions& options, const Tokenizer& tokenizer,
                              const std::vector<RawSource>& sources);

// How much tokenize_sources() would make, and of examples the words of their segments
// (text/examples.h).
struct MeasuredSources {
  int64_t train_tokens = 0, validation_tokens = 0;
  std::vector<uint32_t> train_segments, validation_segments;
};

// Reads and tokenizes all sources. Throws RecipeError, for a split without a token too.
MeasuredSources measure_sources(const TokenizeJob& job);

}  // namespace exprun
