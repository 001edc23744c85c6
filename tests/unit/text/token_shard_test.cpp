#include "text/token_shard.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <vector>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "support/process_counters.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

std::string header(std::vector<int32_t> words) {
  words.resize(256);
  return {reinterpret_cast<const char*>(words.data()), 1024};
}

// The message of inspect_shard about such a file, after its name.
std::string complaint(const std::string& bytes, ShardFormat format = ShardFormat::with_header) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.bin", bytes);
  try {
    inspect_shard(file, format);
  } catch (const Error& error) {
    const std::string start = "token shard: '" + file.string() + "' ";
    const std::string message = error.what();
    CHECK(message.starts_with(start));
    return message.substr(start.size());
  }
  return "";
}

}  // namespace

TEST_CASE("token shard: what is written is read, in the format of llm.c") {
  const TemporaryFolder folder;
  ShardWriter writer(folder.path() / "a.bin", 2);
  writer.append(PackedTokens(2, Tokens{1, 2}).all());
  writer.append(PackedTokens(2, Tokens{65535}).all());
  const TokenShard written = writer.finish();
  CHECK(read_file(folder.path() / "a.bin") ==
        header({20240520, 1, 3}) + std::string("\1\0\2\0\xff\xff", 6));
  const TokenShard read = inspect_shard(folder.path() / "a.bin", ShardFormat::with_header);
  CHECK(read.tokens == 3);
  CHECK(read.first_byte == 1024);
  CHECK(read.path == written.path);
  CHECK(written.tokens == 3);
}

TEST_CASE("token shard: uint32 tokens are written and read as llm.c's of Llama 3") {
  const TemporaryFolder folder;
  ShardWriter writer(folder.path() / "a.bin", 4);
  writer.append(PackedTokens(4, Tokens{1, 128000}).all());
  writer.finish();
  CHECK(read_file(folder.path() / "a.bin") ==
        header({20240801, 7, 2}) + std::string("\1\0\0\0\0\xf4\1\0", 8));
  const TokenShard read = inspect_shard(folder.path() / "a.bin", ShardFormat::with_header);
  CHECK(read.tokens == 2);
  CHECK(read.token_bytes == 4);
}

TEST_CASE("token shard: a writer goes on where another was stopped") {
  const TemporaryFolder folder;
  ShardWriter stopped(folder.path() / "a.bin", 2);
  stopped.append(PackedTokens(2, Tokens{1, 2, 3, 4}).all());
  stopped.sync();
  ShardWriter writer(folder.path() / "a.bin", 2, 2);
  writer.append(PackedTokens(2, Tokens{9}).all());
  CHECK(writer.finish().tokens == 3);
  CHECK(read_file(folder.path() / "a.bin") ==
        header({20240520, 1, 3}) + std::string("\1\0\2\0\x9\0", 6));
  CHECK_THROWS_AS(ShardWriter(folder.path() / "a.bin", 2, 4), Error);
}

TEST_CASE("token shard: many short documents are few writes") {
  const TemporaryFolder folder;
  for (const int64_t bytes : {2, 4}) {
    const auto before = io_counter("syscw");
    ShardWriter writer(folder.path() / "a.bin", bytes);
    for (uint32_t i = 0; i < 50'000; ++i)
      writer.append(PackedTokens(bytes, Tokens{i, 1, 2, 3, 4, 5, 6}).all());
    const TokenShard shard = writer.finish();
    CHECK(shard.tokens == 350'000);
    CHECK(read_file(shard.path).size() == static_cast<size_t>(shard.file_bytes()));
    if (!before) continue;
    const int64_t writes = io_counter("syscw").value() - *before;
    CHECK(writes > 0);
    CHECK(writes < 10);
  }
}

TEST_CASE("token shard: a writer that did not finish leaves no valid shard") {
  const TemporaryFolder folder;
  ShardWriter(folder.path() / "a.bin", 2).append(PackedTokens(2, Tokens{1, 2}).all());
  CHECK_THROWS_AS(inspect_shard(folder.path() / "a.bin", ShardFormat::with_header), Error);
}

TEST_CASE("token shard: both magics and bare files are read") {
  const TemporaryFolder folder;
  const auto other = folder.write("b.bin", header({20250211, 1, 1}) + "ab");
  CHECK(inspect_shard(other, ShardFormat::with_header).tokens == 1);
  const auto bare = folder.write("c.bin", "abcd");
  CHECK(inspect_shard(bare, ShardFormat::raw_uint16).tokens == 2);
  CHECK(inspect_shard(bare, ShardFormat::raw_uint16).first_byte == 0);
}

TEST_CASE("token shard: a file that is no shard is told from one") {
  CHECK(complaint("") == "is empty; download or create it again");
  CHECK(complaint("abcd") ==
        "has 4 bytes, fewer than the 1,024 of a shard's header; download or create it again, or "
        "write format = \"raw_uint16\" if it contains only tokens");
  CHECK(complaint(header({20240520, 1, 0}).substr(0, 8)) ==
        "has 8 bytes, fewer than the 1,024 of a shard's header; download or create it again");
  CHECK(complaint(header({7, 1, 0})) ==
        "begins with 7, not with a shard's magic 20240520, 20250211 or 20240801; if it contains "
        "only tokens, write format = \"raw_uint16\"");
  CHECK(
      complaint(header({20240520, 2, 0})) ==
      "has version 2, but only version 1 of its format is supported; download or create it again");
  CHECK(
      complaint(header({20240801, 1, 0})) ==
      "has version 1, but only version 7 of its format is supported; download or create it again");
}

TEST_CASE("token shard: a size that its header does not say is an error") {
  CHECK(complaint(header({20240520, 1, 3}) + "abcd") ==
        "is truncated: its header says 3 tokens, which is 1030 bytes, but it has 1028; download or "
        "create it again");
  CHECK(complaint(header({20240520, 1, 1}) + "abcd") ==
        "is too long: its header says 1 tokens, which is 1026 bytes, but it has 1028; download or "
        "create it again");
  CHECK(complaint(header({20240520, 1, -5})) ==
        "has a damaged header (-5 tokens); download or create it again");
}

TEST_CASE("token shard: a bare file has whole tokens and no header") {
  CHECK(complaint("abc", ShardFormat::raw_uint16) ==
        "has an odd number of bytes (3), so it does not contain only uint16 tokens");
  CHECK(complaint(header({20240520, 1, 0}), ShardFormat::raw_uint16) ==
        "begins with a shard's header; write format = \"auto\"");
  CHECK(complaint(header({20240520, 2, 0}), ShardFormat::raw_uint16) ==
        "begins with a shard's header; write format = \"auto\"");
}

TEST_CASE("token shard: a text is told from tokens, whatever the format says") {
  const TemporaryFolder folder;
  const std::string line = "die See, die offene See: so weit, so schön, daß man erschrickt\n";
  for (const std::string& text : {line + line, std::string(4095, 's') + "ä" + line}) {
    const auto file = folder.write("a.bin", text);
    for (const ShardFormat format : {ShardFormat::with_header, ShardFormat::raw_uint16})
      CHECK_THROWS_WITH_AS(
          inspect_shard(file, format),
          ("data: '" + file.string() +
           "' is text, not tokens; a recipe reads it with dataset.type = \"text\" and its path in "
           "dataset.path, and `exprun data prepare RECIPE` makes tokens of it")
              .c_str(),
          Error);
  }
  const auto tokens = folder.write("b.bin", line + '\0' + line + '\0');  // the id 10 has one
  CHECK(inspect_shard(tokens, ShardFormat::raw_uint16).tokens > 0);
}

TEST_CASE("token shard: a missing file and a folder are named") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(
      inspect_shard(folder.path(), ShardFormat::with_header),
      ("file: cannot read '" + folder.path().string() + "': Is a directory").c_str(), Error);
  CHECK_THROWS_AS(inspect_shard(folder.path() / "none", ShardFormat::raw_uint16), Error);
}

TEST_CASE("token shard: a pipe is told at once, not waited for") {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe.bin";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(
      inspect_shard(pipe, ShardFormat::with_header),
      ("token shard: '" + pipe.string() + "' is not a regular file (it is a pipe or a device)")
          .c_str(),
      Error);
}
