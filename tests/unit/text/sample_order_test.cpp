#include "text/sample_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

using namespace exprun;

namespace {

std::vector<int64_t> offsets(SampleOrder order, const SampleSpace& space, int64_t seed,
                             int64_t first, int64_t count) {
  std::vector<int64_t> found;
  for (int64_t i = first; i < first + count; ++i)
    found.push_back(sample_offset(order, space, seed, i));
  return found;
}

// Every block's first token, in order.
std::vector<int64_t> all_blocks(const SampleSpace& space) {
  std::vector<int64_t> starts(static_cast<size_t>(space.blocks()));
  for (size_t i = 0; i < starts.size(); ++i)
    starts[i] = static_cast<int64_t>(i) * space.sequence_length;
  return starts;
}

}  // namespace

TEST_CASE("sample order: words of the recipe") {
  CHECK(sample_order("sequential") == SampleOrder::sequential);
  CHECK(sample_order("shuffled_blocks") == SampleOrder::shuffled_blocks);
  CHECK(sample_order("random_offsets") == SampleOrder::random_offsets);
  CHECK_THROWS_AS(sample_order("backwards"), std::logic_error);
}

TEST_CASE("sample order: a block needs one token more than its length") {
  CHECK(SampleSpace{8, 8}.blocks() == 0);
  CHECK(SampleSpace{9, 8}.blocks() == 1);
  CHECK(SampleSpace{16, 8}.blocks() == 1);
  CHECK(SampleSpace{17, 8}.blocks() == 2);
  CHECK(SampleSpace{0, 8}.blocks() == 0);
}

TEST_CASE("sample order: sequential goes block by block, and again") {
  CHECK(offsets(SampleOrder::sequential, {31, 10}, 0, 0, 7) ==
        std::vector<int64_t>{0, 10, 20, 0, 10, 20, 0});
}

TEST_CASE("sample order: each block once an epoch, at any number of blocks") {
  for (const auto order : {SampleOrder::sequential, SampleOrder::shuffled_blocks})
    for (const int64_t blocks : {1, 2, 3, 4, 5, 7, 16, 17, 63, 64, 65, 1000, 4097})
      for (const int64_t epoch : {0, 1, 5}) {
        const SampleSpace space{blocks * 3 + 2, 3};
        auto seen = offsets(order, space, 42, epoch * blocks, blocks);
        std::sort(seen.begin(), seen.end());
        CHECK(seen == all_blocks(space));
      }
}

TEST_CASE("sample order: shuffles differ from epoch to epoch and from seed to seed") {
  const SampleSpace space{1001, 1};
  const auto first = offsets(SampleOrder::shuffled_blocks, space, 1, 0, 1000);
  CHECK(first != offsets(SampleOrder::shuffled_blocks, space, 1, 1000, 1000));
  CHECK(first != offsets(SampleOrder::shuffled_blocks, space, 2, 0, 1000));
  CHECK(first == offsets(SampleOrder::shuffled_blocks, space, 1, 0, 1000));
}

TEST_CASE("sample order: every block of three is as likely at every place") {
  int counts[3][3] = {};
  for (int64_t seed = 0; seed < 3000; ++seed)
    for (int64_t place = 0; place < 3; ++place)
      ++counts[place][sample_offset(SampleOrder::shuffled_blocks, {4, 1}, seed, place)];
  for (const auto& place : counts)
    for (const int count : place) CHECK(std::abs(count - 1000) < 130);  // 5 standard deviations
}

TEST_CASE("sample order: neighbours of a shuffle are strangers") {
  const auto order = offsets(SampleOrder::shuffled_blocks, {10001, 1}, 7, 0, 10000);
  double sum = 0;
  for (size_t i = 1; i < order.size(); ++i)
    sum += static_cast<double>(std::abs(order[i] - order[i - 1]));
  // The mean distance of two of n numbers drawn at random is n / 3.
  CHECK(sum / 9999 == doctest::Approx(10000 / 3.0).epsilon(0.03));
}

TEST_CASE("sample order: random offsets cover [0, n - T) evenly, as nanoGPT's randint") {
  const SampleSpace space{14, 4};
  std::vector<int> counts(10);
  for (const int64_t offset : offsets(SampleOrder::random_offsets, space, 3, 0, 20000))
    ++counts.at(static_cast<size_t>(offset));
  for (const int count : counts) CHECK(std::abs(count - 2000) < 215);  // 5 standard deviations
  CHECK(sample_offset(SampleOrder::random_offsets, {5, 4}, 3, 9) == 0);
}

TEST_CASE("sample order: a stream read in any pieces is the same stream") {
  const SampleSpace space{500, 7};
  for (const auto order :
       {SampleOrder::sequential, SampleOrder::shuffled_blocks, SampleOrder::random_offsets}) {
    const auto whole = offsets(order, space, 11, 0, 300);
    for (const int64_t piece : {1, 3, 64, 100}) {
      std::vector<int64_t> joined(300);
      // Backwards, so that nothing may depend on the call before.
      for (int64_t first = (299 / piece) * piece; first >= 0; first -= piece) {
        const auto part = offsets(order, space, 11, first, std::min<int64_t>(piece, 300 - first));
        std::copy(part.begin(), part.end(), joined.begin() + first);
      }
      CHECK(joined == whole);
    }
  }
}

TEST_CASE("sample order: the order of a seed never changes, because resumed runs rely on it") {
  CHECK(offsets(SampleOrder::shuffled_blocks, {81, 8}, 1337, 0, 10) ==
        std::vector<int64_t>{16, 64, 40, 48, 0, 56, 72, 8, 32, 24});
  CHECK(offsets(SampleOrder::random_offsets, {1003854, 64}, 1337, 0, 4) ==
        std::vector<int64_t>{178662, 621469, 529026, 931912});
}
