#include "engine/data/look_ahead.h"

#include <ATen/ops/full.h>
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

using namespace exprun;

namespace {

Batch batch_of(int64_t first, int64_t count) {
  return {at::full({count}, first, at::kLong), at::full({count}, first, at::kLong), first};
}

}  // namespace

TEST_CASE("look-ahead: any places are answered, guessed or not") {
  LookAhead ahead(batch_of);
  for (const int64_t first : {0, 4, 8, 100, 104, 3, 3, 7, 0}) {
    const Batch batch = ahead.take(first, 4);
    CHECK(batch.largest_token == first);
    CHECK(batch.inputs.size(0) == 4);
  }
  CHECK(ahead.take(4, 2).inputs.size(0) == 2);
}

TEST_CASE("look-ahead: the next batch is read while the one before is used") {
  std::atomic<int64_t> last{-1};
  LookAhead ahead([&](int64_t first, int64_t count) {
    last = first;
    return batch_of(first, count);
  });
  ahead.take(10, 5);
  for (int i = 0; i < 2000 && last != 15; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(last == 15);
  CHECK(ahead.take(15, 5).largest_token == 15);
}

TEST_CASE("look-ahead: a failure ahead of need is thrown when the batch is asked for") {
  LookAhead ahead([](int64_t first, int64_t count) {
    if (first == 4) throw std::runtime_error("no block 4");
    return batch_of(first, count);
  });
  ahead.take(0, 4);
  CHECK_THROWS_WITH(ahead.take(4, 4), "no block 4");
  CHECK_THROWS_WITH(ahead.take(4, 4), "no block 4");
  CHECK(ahead.take(8, 4).largest_token == 8);
}
