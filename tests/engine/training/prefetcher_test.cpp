#include "engine/data/prefetcher.h"

#include <ATen/ops/full.h>
#include <doctest/doctest.h>

#include <future>
#include <stdexcept>
#include <thread>

using namespace exprun;

namespace {

Batch batch_of(int64_t first, int64_t count) {
  return {at::full({count}, first, at::kLong), at::full({count}, first, at::kLong), first};
}

}  // namespace

TEST_CASE("look-ahead: any places are answered, guessed or not") {
  Prefetcher ahead(batch_of, 4);
  for (const int64_t first : {0, 4, 8, 100, 104, 3, 3, 7, 0}) {
    const Batch batch = ahead.take(first, 4);
    CHECK(batch.largest_token == first);
    CHECK(batch.inputs.size(0) == 4);
  }
  CHECK(ahead.take(4, 2).inputs.size(0) == 2);
}

TEST_CASE("look-ahead: on a CPU batches are handed over, not copied") {
  at::Tensor read[4];  // the last one ahead of need
  int64_t count_read = 0;
  Prefetcher ahead(
      [&](int64_t first, int64_t count) {
        const Batch batch = batch_of(first, count);
        read[count_read++] = batch.inputs;
        return batch;
      },
      0);
  ahead.take(0, 4);
  const Batch second = ahead.take(0, 4);
  const Batch third = ahead.take(0, 4);
  CHECK(second.inputs.is_same(read[1]));
  CHECK(third.inputs.is_same(read[2]));
}

TEST_CASE("look-ahead: the next batch is read while the one before is used") {
  std::promise<int64_t> next;
  const auto first_reader = std::this_thread::get_id();
  Prefetcher ahead(
      [&](int64_t first, int64_t count) {
        if (std::this_thread::get_id() != first_reader && first <= 30) next.set_value(first);
        return batch_of(first, count);
      },
      20);
  ahead.take(10, 5);
  CHECK(next.get_future().get() == 30);
  CHECK(ahead.take(30, 5).largest_token == 30);
}

TEST_CASE("look-ahead: only the first batch is waited for, whatever lies between two of a rank") {
  for (const int64_t stride : {0, 4, 12}) {
    CAPTURE(stride);
    const auto trainer = std::this_thread::get_id();
    int64_t waited = 0;
    Prefetcher ahead(
        [&](int64_t first, int64_t count) {
          if (std::this_thread::get_id() == trainer) ++waited;
          return batch_of(first, count);
        },
        stride);
    for (int64_t k = 0; k < 10; ++k)
      CHECK(ahead.take(8 + k * stride, 4).largest_token == 8 + k * stride);
    CHECK(waited == 1);
  }
}

TEST_CASE("look-ahead: a failure ahead of need is thrown when the batch is asked for") {
  Prefetcher ahead(
      [](int64_t first, int64_t count) {
        if (first == 4) throw std::runtime_error("no block 4");
        return batch_of(first, count);
      },
      4);
  ahead.take(0, 4);
  CHECK_THROWS_WITH(ahead.take(4, 4), "no block 4");
  CHECK_THROWS_WITH(ahead.take(4, 4), "no block 4");
  CHECK(ahead.take(8, 4).largest_token == 8);
}
