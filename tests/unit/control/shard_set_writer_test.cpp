// Shards of both splits, gone on with by another process.
#include "control/data/shards/shard_set_writer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/files/file.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

Tokens numbered(uint32_t first, uint32_t count) {
  Tokens tokens;
  for (uint32_t i = 0; i < count; ++i) tokens.push_back(first + i);
  return tokens;
}

// Two documents a split, 7 and 9 tokens each; stopped between them, where one says so.
std::string written(const ShardSetOptions& options, bool stopped) {
  const TemporaryFolder folder;
  auto writer = std::make_unique<ShardSetWriter>(folder.path(), options);
  uint32_t first = 65'000;
  for (const uint32_t size : {7, 9}) {
    for (const Split split : {Split::train, Split::validation}) {
      writer->append(split, PackedTokens(options.token_bytes, numbered(first, size)).all(), true);
      first += size;
    }
    if (!stopped || size != 7) continue;
    const auto state = nlohmann::json::parse(writer->save().dump());
    writer = std::make_unique<ShardSetWriter>(folder.path(), options);
    writer->restore(state);
  }
  std::string bytes;
  for (const Split split : {Split::train, Split::validation})
    for (const TokenShard& shard : writer->finish(split))
      bytes += read_file(folder.path() / shard.path);
  return bytes;
}

}  // namespace

TEST_CASE("shard set writer: stopped and gone on with, the shards are the same") {
  for (const int64_t token_bytes : {2, 4})
    for (const int64_t block_tokens : {0, 5})
      for (const int64_t block_documents : {0, 2}) {
        if (block_tokens == 0 && block_documents > 0) continue;
        const ShardSetOptions options{token_bytes, 6, 3, block_tokens, block_documents};
        const std::string whole = written(options, false);
        CHECK(whole.size() > size_t{4} * 1024);  // several shards
        CHECK(written(options, true) == whole);
      }
}

TEST_CASE("shard set writer: tokens of another size are no tokens of it") {
  const TemporaryFolder folder;
  ShardSetWriter writer(folder.path(), {4, 100});
  CHECK_THROWS_AS(writer.append(Split::train, PackedTokens(2, Tokens{1}).all(), true),
                  std::logic_error);
}
