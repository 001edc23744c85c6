// Token shards: uint16 tokens, little endian, behind a header of 256 int32 ([0] magic, [1] version
// 1, [2] token count), or bare. llm.c and modded-nanogpt write magic 20240520, DDP-BASEMODEL-TRAIN
// 20250211, nanoGPT no header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/unique_fd.h"

namespace exprun {

enum class ShardFormat { with_header, raw_uint16 };

struct TokenShard {
  std::string path;
  int64_t tokens = 0;
  int64_t first_byte = 0;  // 1024 behind a header, 0 in a bare file
};

inline constexpr int32_t kShardMagic = 20240520;  // what we write

// Reads the header and compares it with the size of the file. Throws Error: a wrong magic or
// version, a truncated or over-long file, an odd size.
TokenShard inspect_shard(const std::filesystem::path& file, ShardFormat format);

// Writes one shard with a header, piece by piece. Without finish() the file is no valid shard.
class ShardWriter {
 public:
  explicit ShardWriter(const std::filesystem::path& file);  // throws Error
  void append(std::span<const uint16_t> tokens);            // throws Error
  TokenShard finish();                                      // throws Error

 private:
  std::filesystem::path file_;
  UniqueFd fd_;
  int64_t tokens_ = 0;
};

}  // namespace exprun
