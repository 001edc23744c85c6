// What a file of tokens holds, whoever wrote it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "text/token_shard.h"

namespace exprun {

struct KnownShard {
  TokenShard shard;
  std::string format;  // "llm.c uint16 (magic 20240520)", "raw uint16, no header (nanoGPT)"
};

// By its header; a file that begins with no known magic is taken for bare uint16 where its size is
// even. Throws Error.
KnownShard recognise_shard(const std::filesystem::path& file);

// How often each token is in it, by token. Throws Error, for a token beyond every vocabulary too.
std::vector<int64_t> count_tokens(const TokenShard& shard);

// Among its first tokens; 0 where there are none. Throws Error, as count_tokens does.
int64_t largest_token(const TokenShard& shard, int64_t looked_at);

// Its tokens [begin, begin + count), fewer at its end. Throws Error.
std::vector<int64_t> read_tokens(const TokenShard& shard, int64_t begin, int64_t count);

}  // namespace exprun
