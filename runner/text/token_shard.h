// Token shards: little-endian tokens behind a header of 256 int32 ([0] magic, [1] version, [2]
// token count), or bare. llm.c and modded-nanogpt write uint16 with magic 20240520, version 1, and
// llm.c uint32 (Llama 3) with 20240801, version 7; DDP-BASEMODEL-TRAIN uint16 with 20250211,
// version 1; nanoGPT uint16 without a header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "text/packed_tokens.h"

namespace exprun {

enum class ShardFormat { with_header, raw_uint16 };

struct TokenShard {
  std::string path;
  int64_t tokens = 0;
  int64_t first_byte = 0;   // 1024 behind a header, 0 in a bare file
  int64_t token_bytes = 2;  // 2 or 4

  int64_t file_bytes() const { return first_byte + tokens * token_bytes; }
};

// Of all shards together.
int64_t token_count(const std::vector<TokenShard>& shards);

inline constexpr int32_t kShardMagic = 20240520;      // what we write where 16 bits are enough,
inline constexpr int32_t kWideShardMagic = 20240801;  // and where they are not
inline constexpr int64_t kMostNarrowTokens = 65536;   // ids that fit

// Whether a file that begins so is a shard of a kind that is read.
bool is_shard_magic(int32_t magic);
bool begins_as_shard(const std::filesystem::path& file);  // throws Error

// How many bytes a token of such a vocabulary takes in what we write.
inline int64_t token_bytes_for(int64_t vocab_size) {
  return vocab_size > kMostNarrowTokens ? 4 : 2;
}

// Reads the header and compares it with the size of the file. Throws Error: a wrong magic or
// version, a truncated or over-long file, an odd size.
TokenShard inspect_shard(const std::filesystem::path& file, ShardFormat format);

// Writes one shard with a header, piece by piece, buffered. Without finish() the file is no valid
// shard.
class ShardWriter {
 public:
  ShardWriter(const std::filesystem::path& file, int64_t token_bytes);  // throws Error
  // Goes on with one that another process left, behind its first `tokens`. Throws Error.
  ShardWriter(const std::filesystem::path& file, int64_t token_bytes, int64_t tokens);

  void append(TokenSpan tokens);  // of as many bytes each (PackedTokens::append); throws Error
  void sync();                    // makes durable what was appended and finished
  TokenShard finish();            // writes the header; throws Error
  const std::filesystem::path& file() const { return file_; }
  int64_t tokens() const { return tokens_; }

 private:
  void flush();
  void write_ahead();

  std::filesystem::path file_;
  UniqueFd fd_;
  int64_t token_bytes_;
  int64_t tokens_ = 0;
  int64_t sent_ = 0;                // bytes of tokens whose way to the disk has begun
  std::unique_ptr<char[]> buffer_;  // appended and not yet written
  size_t filled_ = 0;
};

}  // namespace exprun
