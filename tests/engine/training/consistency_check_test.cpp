// What ranks compare before they begin.
#include "engine/attempt/consistency_check.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/temporary_folder.h"
#include "text/prepared_data.h"

using namespace exprun;

namespace {

const std::vector<ConsistencyRecord> kHere{{"the program", "aa", "install it anew"},
                                           {"token shard 'a.bin'", "bb", "copy it"}};

TokenShard shard(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  return {folder.write(name, bytes).string(), static_cast<int64_t>(bytes.size() / 2), 0, 2};
}

}  // namespace

TEST_CASE("consistency check: what differs from rank 0 is named with both values and a remedy") {
  CHECK(difference_from_rank_0(kHere, to_json(kHere)).empty());
  CHECK(difference_from_rank_0(kHere, {{"the program", "aa"}, {"token shard 'a.bin'", "cc"}}) ==
        "token shard 'a.bin' is bb here and cc on rank 0; copy it");
  CHECK(difference_from_rank_0(kHere, nlohmann::json::object()) ==
        "the program is aa here and unknown on rank 0; install it anew");
}

TEST_CASE("consistency check: data that cannot be read differ from data that can") {
  PreparedData data;
  data.train = {{"no/such.bin", 8, 0, 2}};
  const auto here = consistency_record("hash", data, std::nullopt);
  CHECK(here.back().what == "token shard 'no/such.bin'");
  CHECK(here.back().value.find("No such file") != std::string::npos);
}

TEST_CASE("shard sample: size, every byte of a small file, and both ends of a large one") {
  const TemporaryFolder folder;
  const std::string small(1000, 'x'), large(1 << 20, 'x');
  const auto hash_with = [&](std::string bytes, size_t place) {
    bytes[place] = 'y';
    return sampled_hash(shard(folder, "changed.bin", bytes));
  };
  const std::string of_small = sampled_hash(shard(folder, "small.bin", small));
  const std::string of_large = sampled_hash(shard(folder, "large.bin", large));
  CHECK(sampled_hash(shard(folder, "again.bin", large)) == of_large);
  CHECK(of_small != sampled_hash(shard(folder, "longer.bin", small + "xx")));
  for (const size_t place : {0, 500, 999}) CHECK(hash_with(small, place) != of_small);
  for (const size_t place : {size_t{0}, large.size() - 1})
    CHECK(hash_with(large, place) != of_large);
}
