// Token shards: little-endian tokens after a header of 256 int32 ([0] magic, [1] version, [2]
// token count), or bare. llm.c and modded-nanogpt write uint16 with magic 20240520, version 1, and
// llm.c uint32 (Llama 3) with 20240801, version 7; DDP-BASEMODEL-TRAIN uint16 with 20250211,
// version 1; nanoGPT uint16 without a header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/files/file.h"
#include "base/uninitialized_buffer.h"
#include "text/tokenizer.h"

namespace exprun {

// Tokens as they lie in a shard: two bytes each, or four. Encoders fill it, so that no thread
// handles more bytes than are written.

// A part of them; what holds them lives on.
struct TokenSpan {
  const char* bytes = nullptr;
  size_t size = 0;  // tokens
  size_t token_bytes = 2;

  size_t size_bytes() const { return size * token_bytes; }
  void require_token_bytes(size_t expected) const {
    if (token_bytes != expected) throw std::logic_error("TokenSpan: tokens of another size");
  }
  TokenSpan first(size_t count) const { return {bytes, count, token_bytes}; }
  TokenSpan without_first(size_t count) const {
    return {bytes + count * token_bytes, size - count, token_bytes};
  }
};

class PackedTokens final : public TokenSink {
 public:
  PackedTokens() = default;  // of two bytes
  PackedTokens(PackedTokens&& other) noexcept { *this = std::move(other); }
  PackedTokens& operator=(PackedTokens&& other) noexcept {
    token_bytes_ = other.token_bytes_;
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  explicit PackedTokens(int64_t token_bytes) : token_bytes_(static_cast<size_t>(token_bytes)) {}
  PackedTokens(int64_t token_bytes, std::span<const uint32_t> tokens) : PackedTokens(token_bytes) {
    append(tokens);
  }

  // Of two bytes the lower ones of each are kept.
  void append(std::span<const uint32_t> tokens) override;
  void append(TokenSpan tokens);  // throws std::logic_error unless of as many bytes each

  // Its memory is used again.
  void clear(int64_t token_bytes);
  void drop_first(size_t count);
  void reserve(size_t tokens);

  TokenSpan all() const { return {bytes_.data(), size_, token_bytes_}; }
  uint32_t operator[](size_t place) const;
  size_t size() const { return size_; }
  size_t capacity() const { return bytes_.capacity() / token_bytes_; }

 private:
  char* room_for(size_t tokens);  // after the last

  size_t token_bytes_ = 2;
  UninitializedBuffer bytes_;
  size_t size_ = 0;
};

enum class ShardFormat { with_header, raw_uint16 };

struct TokenShard {
  std::string path;
  int64_t tokens = 0;
  int64_t first_byte = 0;   // 1024 after a header, 0 in a bare file
  int64_t token_bytes = 2;  // 2 or 4
  // Of a file that is its own source: its hash, as the fingerprint has it.
  std::string content = {};

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

// Whether it begins as a text and not as tokens: with 64 bytes of UTF-8 or more, without control
// characters. Throws Error.
bool begins_as_text(const std::filesystem::path& file);

// How many bytes a token of such a vocabulary takes in what we write.
inline int64_t token_bytes_for(int64_t vocab_size) {
  return vocab_size > kMostNarrowTokens ? 4 : 2;
}

// Reads the header and compares it with the size of the file. Throws Error: a text, a wrong magic
// or version, a truncated or over-long file, an odd size.
TokenShard inspect_shard(const std::filesystem::path& file, ShardFormat format);

// Writes one shard with a header, piece by piece, buffered. Without finish() the file is no valid
// shard.
class ShardWriter {
 public:
  ShardWriter(const std::filesystem::path& file, int64_t token_bytes);  // throws Error
  // Goes on with one that another process left, after its first `tokens`. Throws Error.
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
