// The tokens of uint16 shards, read apart from the code under test.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/files/file.h"
#include "text/token_shard.h"

namespace exprun {

inline std::vector<int64_t> tokens_of(const std::vector<TokenShard>& shards) {
  std::vector<int64_t> tokens;
  for (const TokenShard& shard : shards) {
    const MappedFile file(shard.path);
    for (int64_t i = 0; i < shard.tokens; ++i) {
      uint16_t token;
      std::memcpy(&token, file.bytes().data() + shard.first_byte + 2 * i, sizeof token);
      tokens.push_back(token);
    }
  }
  return tokens;
}

}  // namespace exprun
