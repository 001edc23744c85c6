// What [dataset] of type "text" or "instruction" asks for: which documents, which tokens, which
// split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "control/data/read/document_chunks.h"
#include "recipe/section.h"
#include "recipe/value.h"
#include "text/tokenizer.h"

namespace exprun {

struct TextOptions {
  std::string format;  // auto, text, json_lines, json
  std::string text_template, fallback_template;
  std::string example_template;  // of instruction data; empty for text
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

// One rule of validation, which leaves out the default of validation_fraction unless that is typed
// on the command line. Throws RecipeError for two.
TextOptions text_options(const Section& dataset, bool fraction_typed = false);

// The files that [dataset] names, training first. Throws one RecipeError for all
// that is missing.
std::vector<RawSource> raw_sources(const Table& dataset, const std::string& libtorch);

// That a vocabulary could not be read, and where one is to be had; this machine lacks one that does
// not exist.
RecipeError vocabulary_error(const Section& dataset, const Error& error,
                             const std::string& tokenizer, const std::filesystem::path& vocabulary);

// Throws RecipeError at `vocabulary`: it cannot be read, or gpt2 is asked for and it is another.
std::unique_ptr<Tokenizer> load_named_tokenizer(const Section& dataset,
                                                const std::string& tokenizer,
                                                const std::filesystem::path& vocabulary);

// The tokenizer that the options name; a char tokenizer is made from the whole text. Throws
// RecipeError at the key that is wrong.
std::unique_ptr<Tokenizer> make_tokenizer(const Section& dataset, const TextOptions& options,
                                          const std::vector<RawSource>& sources);

// Opens texts, of many some: what begins like something else is refused. Throws RecipeError at its
// path.
void check_texts(const TextOptions& options, const std::vector<RawSource>& sources);

// Fills the template with every JSON record, as preparing them would. Throws RecipeError at the
// path of the first that does not fit.
void check_records(const TextOptions& options, const std::vector<RawSource>& sources);

// Whether some hold text and others JSON records.
bool are_mixed(const std::vector<RawSource>& sources, const std::string& format);

// A split that is wanted and gets no token is a mistake of the recipe: of which key.
struct SplitCounts {
  int64_t train_tokens = 0, validation_tokens = 0;
  int64_t documents = 0, text_bytes = 0;  // of both
};

// Throws RecipeError.
void refuse_empty_split(const Section& dataset, const TextOptions& options,
                        const SplitCounts& counts);

}  // namespace exprun
