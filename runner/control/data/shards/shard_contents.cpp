#include "control/data/shards/shard_contents.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "text/bpe/bpe_vocabulary.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

std::string format_name(const fs::path& file) {
  int32_t magic = 0;
  const MappedFile mapped(file);
  std::memcpy(&magic, mapped.bytes().data(), sizeof magic);
  if (magic == kShardMagic) return "llm.c uint16 (magic 20240520)";
  if (magic == kWideShardMagic) return "llm.c uint32 (magic 20240801)";
  return "DDP-BASEMODEL-TRAIN uint16 (magic 20250211)";
}

const std::byte* tokens_in(const MappedFile& file, const TokenShard& shard) {
  if (static_cast<int64_t>(file.bytes().size()) < shard.file_bytes())
    throw Error("token shard: '" + shard.path + "' became shorter while it was read");
  return file.bytes().data() + shard.first_byte;
}

// Calls `use` with each token of [begin, end).
template <class Use>
void for_each_token(const TokenShard& shard, int64_t begin, int64_t end, Use use) {
  const MappedFile file(shard.path);
  const std::byte* data = tokens_in(file, shard);
  for (int64_t i = begin; i < end; ++i) {
    uint32_t token = 0;  // little endian: the bytes that are there are the low ones
    std::memcpy(&token, data + i * shard.token_bytes, static_cast<size_t>(shard.token_bytes));
    use(token);
  }
}

void require_token(const TokenShard& shard, int64_t token) {
  if (std::cmp_less(token, kMostTokens)) return;
  throw Error("token shard: '" + shard.path + "' has the token " + std::to_string(token) +
              ", and no vocabulary has more than 2^21; download or create it again");
}

// A plain loop, which a compiler can vectorise.
template <class Token>
int64_t largest(const std::byte* bytes, int64_t count) {
  const auto* tokens = reinterpret_cast<const Token*>(bytes);
  Token most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, tokens[i]);
  return most;
}

}  // namespace

KnownShard recognise_shard(const fs::path& file) {
  if (!begins_as_shard(file))
    return {inspect_shard(file, ShardFormat::raw_uint16), "raw uint16, no header (nanoGPT)"};
  const TokenShard shard = inspect_shard(file, ShardFormat::with_header);
  return {shard, format_name(file)};
}

std::vector<int64_t> count_tokens(const TokenShard& shard) {
  std::vector<int64_t> counts;
  for_each_token(shard, 0, shard.tokens, [&](uint32_t token) {
    require_token(shard, token);
    if (token >= counts.size()) counts.resize(std::max<size_t>(65536, size_t{token} + 1));
    ++counts[token];
  });
  while (!counts.empty() && counts.back() == 0) counts.pop_back();
  return counts;
}

int64_t largest_token(const TokenShard& shard, int64_t looked_at) {
  const MappedFile file(shard.path);
  const std::byte* const tokens = tokens_in(file, shard);
  const int64_t count = std::min(looked_at, shard.tokens);
  const int64_t token =
      shard.token_bytes == 4 ? largest<uint32_t>(tokens, count) : largest<uint16_t>(tokens, count);
  require_token(shard, token);
  return token;
}

std::vector<int64_t> read_tokens(const TokenShard& shard, int64_t begin, int64_t count) {
  std::vector<int64_t> tokens;
  begin = std::min(begin, shard.tokens);
  for_each_token(shard, begin, begin + std::min(count, shard.tokens - begin),
                 [&](uint32_t token) { tokens.push_back(token); });
  return tokens;
}

}  // namespace exprun
