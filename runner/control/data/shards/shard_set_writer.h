// The shards of both splits, written in order: train_000000.bin, validation_000000.bin and so on;
// of examples their segments too: train_000000.segments.
// Where it stands can be saved, and gone on with by another process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files/atomic_folder.h"
#include "control/data/read/document_chunks.h"
#include "text/token_shard.h"

namespace exprun {

struct ShardSetOptions {
  int64_t token_bytes = 2;
  int64_t shard_tokens = 0;
  int64_t first_validation_tokens = 0;  // so many tokens go to validation before any to train
  int64_t block_tokens = 0;             // whole blocks only; 0: any number
  int64_t block_documents = 0;          // what these leave over is dropped; 0: all documents
  const char* extension = ".bin";
};

// One split.
class SplitWriter {
 public:
  // Without a folder tokens are counted, and nothing is written.
  SplitWriter(std::filesystem::path folder, std::string name, const ShardSetOptions& options);

  void append(TokenSpan tokens);
  int64_t tokens() const { return tokens_; }
  std::vector<TokenShard> finish();  // with names, no folders: the folder may move
  // Of the shards that this writer ended, which are durable then: waits for the last. Throws Error.
  FileHashes hashes();
  nlohmann::json save();  // and makes durable what was written
  void restore(const nlohmann::json& state);

 private:
  std::filesystem::path file(size_t number) const;
  void end_shard();
  void wait_for_ended();

  std::filesystem::path folder_;
  std::string name_;
  const ShardSetOptions& options_;
  std::vector<TokenShard> shards_;
  std::optional<ShardWriter> open_;
  int64_t tokens_ = 0;
  FileHashes hashes_;
  // Of the shard that was ended last.
  std::string ended_;
  std::future<void> synced_;
  std::future<std::string> hash_;
};

class ShardSetWriter {
 public:
  // As SplitWriter's.
  ShardSetWriter(const std::filesystem::path& folder, const ShardSetOptions& options);

  void append(Split split, TokenSpan tokens, bool ends_document);
  int64_t tokens(Split split) const;  // so far
  void append_segments(Split split,
                       std::span<const uint32_t> words);  // as text/examples.h has them
  // The whole sets; of an unfinished block the rest is dropped.
  std::vector<TokenShard> finish(Split split);
  std::vector<TokenShard> finish_segments(Split split);
  FileHashes hashes();  // as SplitWriter's, of all
  nlohmann::json save();
  void restore(const nlohmann::json& state);

 private:
  void write(Split split, TokenSpan tokens);
  void append_blocks(Split split, TokenSpan tokens, bool ends_document);
  SplitWriter& writer(Split split) { return split == Split::train ? train_ : validation_; }

  ShardSetOptions options_, segment_options_;
  SplitWriter train_, validation_, train_segments_, validation_segments_;
  PackedTokens begun_[2];          // the block of each split that is not full yet
  int64_t documents_[2] = {0, 0};  // of the group
};

}  // namespace exprun
