// What the launcher hands to the ranks about data: token shards, ready to be mapped. Raw sources
// (text) were tokenized once into runs/data/<fingerprint>/; shards are named where they lie.
// It is the file data.json of a run's folder, and of a set's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/dataset_info.h"
#include "base/json_text.h"
#include "text/token_shard.h"
#include "text/tokenizer.h"

namespace exprun {

// Of data: what is trained on, and what is kept to measure by.
enum class Split { train, validation };

struct PreparedData {
  std::string fingerprint;            // XXH3-128 of what was read: a resume compares it
  nlohmann::json tokenizer;           // Tokenizer::to_json, or null if the source has none
  std::optional<int64_t> vocab_size;  // of the tokenizer
  std::optional<int64_t> described_vocab_size;  // of token shards: in the sets that list them
  std::vector<TokenShard> train;
  std::vector<TokenShard> validation;
  // Of examples: the segments of each, in words (text/examples.h); empty for plain tokens.
  std::vector<TokenShard> train_segments, validation_segments;
  std::string store;  // of a run: where it lay, absolute, when this was written; may be empty
  nlohmann::json made_from;  // of raw sources: files, options and counts, to be shown; or null

  // What every token is below unless it is damaged; nothing where no set vouches for the tokens.
  std::optional<int64_t> token_limit() const {
    return made_from.is_object() ? vocab_size : described_vocab_size;
  }

  // Throws Error for a path that JSON cannot say, unless U+FFFD may stand for its bytes.
  std::string to_json(NotUtf8 bytes = NotUtf8::throws) const;
  // Throws Error that names the file that it is from, and what to do about the damage.
  static PreparedData from_json(const std::string& json, const std::string& file = "",
                                const std::string& remedy = "run the recipe again");

  // The same for a data.json. Paths are absolute then: a set's are relative to its folder, and what
  // lay in a run's store and is gone is named where the store is now.
  static PreparedData load(const std::filesystem::path& file,
                           const std::string& remedy = "run the recipe again");
};

// Throws Error for a path of data that JSON, and so a run, cannot say.
void require_utf8_path(const std::string& path);

// What prepared data, or a tokenizer alone, tell the rules of recipes.

DatasetInfo facts_of(const PreparedData& data);

// Before any text became tokens.
DatasetInfo facts_of(const Tokenizer& tokenizer);

// Whether two machines have the same token shard, told without reading all of it.

// XXH3-128 of the file's size and of 64 stretches of 4 KiB, spread evenly from its first byte to
// its last; a file up to 256 KiB is read whole. Files that differ in few bytes may look the same.
// Throws Error when it cannot be read.
std::string sampled_hash(const TokenShard& shard);

}  // namespace exprun
