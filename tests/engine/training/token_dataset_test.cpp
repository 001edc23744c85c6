#include "engine/data/token_dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "base/diagnostic.h"
#include "base/random.h"
#include "engine/model.h"
#include "support/process_counters.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"

using namespace exprun;

namespace {

Tokens some_tokens(size_t count) {
  Tokens tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<uint32_t>(random_below(60000, {i}));
  return tokens;
}

// The tokens cut into shards of the given sizes; the last one takes the rest.
std::vector<TokenShard> shards_of(const TemporaryFolder& folder, const Tokens& tokens,
                                  std::vector<size_t> sizes) {
  std::vector<TokenShard> shards;
  std::span<const uint32_t> rest(tokens);
  sizes.push_back(tokens.size());
  for (const size_t size : sizes) {
    ShardWriter writer(folder.path() / (std::to_string(shards.size()) + ".bin"), 2);
    const auto part = rest.first(std::min(size, rest.size()));
    writer.append(PackedTokens(2, part).all());
    shards.push_back(writer.finish());
    rest = rest.subspan(part.size());
  }
  return shards;
}

std::vector<int64_t> values(const at::Tensor& tensor) {
  const int64_t* data = tensor.data_ptr<int64_t>();
  return {data, data + tensor.numel()};
}

// What a batch must be by its definition.
void check_batch(const Batch& batch, const Tokens& tokens, const std::vector<int64_t>& offsets,
                 int64_t length) {
  std::vector<int64_t> inputs, targets;
  int64_t largest = 0;
  for (const int64_t offset : offsets)
    for (int64_t t = 0; t < length; ++t) {
      inputs.push_back(tokens.at(static_cast<size_t>(offset + t)));
      targets.push_back(tokens.at(static_cast<size_t>(offset + t + 1)));
      largest = std::max({largest, inputs.back(), targets.back()});
    }
  CHECK(values(batch.inputs) == inputs);
  CHECK(values(batch.targets) == targets);
  CHECK(batch.largest_token == largest);
  CHECK(batch.counted_targets == static_cast<int64_t>(targets.size()));
  CHECK(batch.inputs.sizes() == at::IntArrayRef({static_cast<int64_t>(offsets.size()), length}));
}

}  // namespace

TEST_CASE("token reader: shards are joined without a gap, wherever they are cut") {
  const auto tokens = some_tokens(50);
  for (const auto& sizes :
       std::vector<std::vector<size_t>>{{}, {1}, {10, 1, 0, 2}, {49}, {5, 5, 5}}) {
    const TemporaryFolder folder;
    const TokenReader reader(shards_of(folder, tokens, sizes));
    CHECK(reader.tokens() == 50);
    std::vector<int64_t> offsets;
    for (int64_t offset = 0; offset + 8 < 50; ++offset) offsets.push_back(offset);
    check_batch(reader.read(offsets, 8), tokens, offsets, 8);
  }
}

TEST_CASE("token reader: bare files are read from their first byte") {
  const TemporaryFolder folder;
  const auto file = folder.write("a.bin", std::string("\1\0\2\0\3\0", 6));
  const TokenReader reader({inspect_shard(file, ShardFormat::raw_uint16)});
  check_batch(reader.read(std::vector<int64_t>{0}, 2), {1, 2, 3}, {0}, 2);
}

TEST_CASE("token reader: a shard that changed its size is an error, not a crash") {
  const TemporaryFolder folder;
  const auto shards = shards_of(folder, some_tokens(50), {});
  std::filesystem::resize_file(shards[0].path, 1100);
  CHECK_THROWS_WITH_AS(
      TokenReader{shards},
      ("token shard: '" + shards[0].path +
       "' has 1100 bytes, but had 1124 when it was prepared; restore it, or start a "
       "new run: exprun RECIPE --new")
          .c_str(),
      Error);
}

TEST_CASE("token reader: a token is found by its file and its place there") {
  const TemporaryFolder folder;
  const auto shards = shards_of(folder, {1, 2, 9, 3, 8, 4}, {2, 2});
  const TokenReader reader(shards);
  const auto place = reader.find(3, 3, 7);
  REQUIRE(place);
  CHECK(place->file == shards[2].path);
  CHECK(place->index == 0);
  CHECK(place->token == 8);
  CHECK(reader.find(0, 6, 9)->index == 0);
  CHECK_FALSE(reader.find(0, 2, 7));
  CHECK_FALSE(reader.find(0, 6, 10));
}

TEST_CASE("token reader: shards that are not opened are counted") {
  const TemporaryFolder folder;
  auto shards = shards_of(folder, some_tokens(50), {20});
  std::filesystem::remove(shards[0].path);
  const TokenReader reader(shards, /*pins_memory=*/false, /*opened=*/false);
  CHECK(reader.tokens() == 50);
  int64_t token = 0;
  CHECK_THROWS_AS(reader.copy(0, 1, &token), std::logic_error);
}

TEST_CASE("token dataset: a global batch is the same in any pieces") {
  const TemporaryFolder folder;
  PreparedData data;
  data.train = shards_of(folder, some_tokens(300), {100, 70});
  for (const auto order :
       {SampleOrder::sequential, SampleOrder::shuffled_blocks, SampleOrder::random_offsets}) {
    const auto dataset = make_token_dataset({data, 8, 5}, order);
    const auto whole = values(dataset->batch(Split::train, 90, 12).targets);
    std::vector<int64_t> joined;
    for (int64_t first = 90; first < 102; first += 4)
      for (const int64_t token : values(dataset->batch(Split::train, first, 4).targets))
        joined.push_back(token);
    CHECK(joined == whole);
  }
}

TEST_CASE("token dataset: separate blocks share no token, and their last target is ignored") {
  const TemporaryFolder folder;
  const auto tokens = some_tokens(40);
  PreparedData data;
  data.train = shards_of(folder, tokens, {13});
  const auto dataset = make_token_dataset({data, 10, 5}, SampleOrder::sequential, Blocks::separate);
  CHECK(dataset->samples_per_epoch(Split::train) == 4);
  CHECK(dataset->targets_per_sample() == 9);
  const Batch batch = dataset->batch(Split::train, 0, 4);
  CHECK(values(batch.inputs) == std::vector<int64_t>(tokens.begin(), tokens.end()));
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t t = 0; t < 10; ++t)
      CHECK(batch.targets[row][t].item<int64_t>() ==
            (t == 9 ? kIgnoredTarget : static_cast<int64_t>(tokens[10 * row + t + 1])));
  CHECK(batch.counted_targets == 4 * 9);
}

TEST_CASE("token dataset: started at any step it gives what one gives that ran there") {
  const TemporaryFolder folder;
  PreparedData data;
  data.train = shards_of(folder, some_tokens(300), {100, 70});
  for (const auto order :
       {SampleOrder::sequential, SampleOrder::shuffled_blocks, SampleOrder::random_offsets}) {
    const auto ran = make_token_dataset({data, 8, 5, 6}, order);
    for (int64_t step = 0; step < 60; ++step) {
      const Batch batch = ran->batch(Split::train, step * 6, 6);
      const Batch fresh = make_token_dataset({data, 8, 5}, order)->batch(Split::train, step * 6, 6);
      CHECK(values(batch.inputs) == values(fresh.inputs));
      CHECK(values(batch.targets) == values(fresh.targets));
    }
  }
}

TEST_CASE("token dataset: uint32 shards are read beside uint16 ones") {
  const TemporaryFolder folder;
  ShardWriter narrow(folder.path() / "a.bin", 2), wide(folder.path() / "b.bin", 4);
  narrow.append(PackedTokens(2, Tokens{1, 2, 3}).all());
  wide.append(PackedTokens(4, Tokens{128'000, 5}).all());
  const TokenReader reader({narrow.finish(), wide.finish()});
  check_batch(reader.read(std::vector<int64_t>{0}, 4), {1, 2, 3, 128'000, 5}, {0}, 4);
}

TEST_CASE("token dataset: twenty gigabytes of shards open in a moment, anywhere") {
  const TemporaryFolder folder;
  std::vector<TokenShard> shards;
  for (int i = 0; i < 100; ++i) {
    ShardWriter writer(folder.path() / (std::to_string(i) + ".bin"), 2);
    shards.push_back(writer.finish());
    shards.back().tokens = 100'000'000;  // a hole in the file system
    std::filesystem::resize_file(shards.back().path,
                                 static_cast<uintmax_t>(shards.back().file_bytes()));
  }
  const auto before = bytes_touched();
  const TokenReader reader(shards);
  const Batch batch =
      reader.read(std::vector<int64_t>{9'999'000'000, 5'000'000'000, 99'999'990}, 512);
  if (before) CHECK(bytes_touched().value() - *before < 2'000'000);  // a ten-thousandth
  CHECK(batch.inputs.size(0) == 3);
  CHECK(batch.largest_token == 0);
}

TEST_CASE("token dataset: validation is in order from its start, whatever the training order") {
  const TemporaryFolder folder;
  const auto tokens = some_tokens(100);
  PreparedData data;
  data.train = data.validation = shards_of(folder, tokens, {});
  const auto dataset = make_token_dataset({data, 10, 5}, SampleOrder::random_offsets);
  CHECK(dataset->samples_per_epoch(Split::validation) == 10);
  CHECK(dataset->samples_per_epoch(Split::train) == 0);
  check_batch(dataset->batch(Split::validation, 0, 3), tokens, {0, 10, 20}, 10);
}

TEST_CASE("token dataset: validation ends with its last token, in a sequence that is not full") {
  const TemporaryFolder folder;
  const auto tokens = some_tokens(25);
  PreparedData data;
  data.train = data.validation = shards_of(folder, tokens, {});
  const auto check_end = [&](Blocks blocks, int64_t samples, int64_t inputs, int64_t targets) {
    const auto dataset = make_token_dataset({data, 10, 0}, SampleOrder::sequential, blocks);
    CHECK(dataset->samples_per_epoch(Split::train) == 2);
    REQUIRE(dataset->samples_per_epoch(Split::validation) == samples);
    const Batch last = dataset->batch(Split::validation, samples - 1, 1);
    std::vector<int64_t> expected_inputs(10, 0), expected_targets(10, kIgnoredTarget);
    std::copy_n(tokens.begin() + 20, inputs, expected_inputs.begin());
    std::copy_n(tokens.begin() + 21, targets, expected_targets.begin());
    CHECK(values(last.inputs) == expected_inputs);
    CHECK(values(last.targets) == expected_targets);
    CHECK(last.counted_targets == targets);
  };
  check_end(Blocks::overlapping, 3, 5, 4);
  check_end(Blocks::separate, 3, 5, 4);
}
