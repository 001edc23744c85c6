// What is said of files of tokens that others wrote, or broke.
#include "control/data/shards/shard_contents.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

using namespace exprun;
using namespace std::string_literals;

namespace {

std::string wide_shard(std::vector<uint32_t> tokens) {
  std::vector<uint32_t> words = {20240801, 7, static_cast<uint32_t>(tokens.size())};
  words.resize(256);
  words.insert(words.end(), tokens.begin(), tokens.end());
  return {reinterpret_cast<const char*>(words.data()), words.size() * 4};
}

}  // namespace

TEST_CASE("shard contents: a token beyond every vocabulary is told, and takes no memory") {
  const TemporaryFolder folder;
  const auto last = folder.write("last.bin", wide_shard({(1u << 21) - 1}));
  CHECK(count_tokens(recognise_shard(last).shard).size() == 1u << 21);
  for (const uint32_t token : {1u << 21, UINT32_MAX}) {
    const auto file = folder.write("beyond.bin", wide_shard({5, token}));
    CHECK_THROWS_WITH_AS(
        count_tokens(recognise_shard(file).shard),
        ("token shard: '" + file.string() + "' has the token " + std::to_string(token) +
         ", and no vocabulary has more than 2^21; download or create it again")
            .c_str(),
        Error);
  }
}

TEST_CASE("shard contents: the largest of the first tokens, of either width") {
  const TemporaryFolder folder;
  const auto wide = recognise_shard(folder.write("wide.bin", wide_shard({5, 70'000, 9}))).shard;
  CHECK(largest_token(wide, 1) == 5);
  CHECK(largest_token(wide, 2) == 70'000);
  CHECK(largest_token(wide, 100) == 70'000);
  const TokenShard bare = recognise_shard(folder.write("bare.bin", "\3\0\2\1"s)).shard;
  CHECK(largest_token(bare, 1) == 3);
  CHECK(largest_token(bare, 2) == 258);
}

TEST_CASE("shard contents: a file with a shard's magic is never taken for bare tokens") {
  const TemporaryFolder folder;
  std::string other_version = wide_shard({1});
  other_version[4] = 2;
  const auto file = folder.write("a.bin", other_version);
  CHECK_THROWS_WITH_AS(recognise_shard(file),
                       ("token shard: '" + file.string() +
                        "' has version 2, but only version 7 of its format is supported; download "
                        "or create it again")
                           .c_str(),
                       Error);
}
