// Memory of large tensors: what is used again, and what goes back to the system.
#include "engine/device/cpu_memory.h"

#include <ATen/ops/full.h>
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <future>
#include <vector>

#include "engine/checkpoint/checkpoint.h"
#include "engine/tiny_run.h"

using namespace exprun;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

struct Mapped {
  size_t all = 0, resident = 0;
};

Mapped mapped_bytes() {
  Mapped mapped;
  std::ifstream("/proc/self/statm") >> mapped.all >> mapped.resident;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return {mapped.all * page, mapped.resident * page};
}

size_t address_space() {
  return mapped_bytes().all;
}

size_t resident_bytes() {
  return mapped_bytes().resident;
}

// Of these sizes, all in use at once.
void use(BlockCache& cache, const std::vector<size_t>& sizes) {
  std::vector<void*> blocks;
  for (const size_t size : sizes) blocks.push_back(cache.take(size));
  for (size_t i = 0; i < sizes.size(); ++i) {
    REQUIRE(blocks[i]);
    std::memset(blocks[i], 1, sizes[i]);
  }
  for (void* const block : blocks) REQUIRE(cache.put(block));
}

}  // namespace

TEST_CASE("block cache: a block is used again for its size and for little less") {
  BlockCache cache;
  void* const first = cache.take(4 * kMiB);
  CHECK(reinterpret_cast<uintptr_t>(first) % static_cast<size_t>(::sysconf(_SC_PAGESIZE)) == 0);
  CHECK(cache.take(4 * kMiB) != first);
  CHECK(cache.put(first));
  CHECK(cache.idle_bytes() == 4 * kMiB);
  void* const same = cache.take(7 * kMiB / 2);
  CHECK(same == first);
  CHECK(cache.idle_bytes() == 0);
  CHECK(cache.put(same));
  CHECK(cache.take(3 * kMiB) != first);  // more than a fifth of it would be left over
}

TEST_CASE(
    "block cache: a block of 2 MiB or more begins at a huge page, and nothing beside it is left") {
  const size_t before = address_space();
  {
    BlockCache cache;
    std::vector<void*> blocks;
    for (const size_t size : {2 * kMiB, 3 * kMiB, 16 * kMiB}) {
      blocks.push_back(cache.take(size));
      CHECK(reinterpret_cast<uintptr_t>(blocks.back()) % (2 * kMiB) == 0);
      std::memset(blocks.back(), 1, size);
    }
    CHECK(address_space() >= before + 21 * kMiB);
    CHECK(address_space() < before + 22 * kMiB);
    for (void* const block : blocks) CHECK(cache.put(block));
  }
  CHECK(address_space() < before + kMiB);
}

TEST_CASE("block cache: the smallest that fits is taken, of equal ones the last") {
  BlockCache cache;
  void* const large = cache.take(5 * kMiB);
  void* const small = cache.take(4 * kMiB);
  void* const last = cache.take(4 * kMiB);
  for (void* const block : {small, large, last}) CHECK(cache.put(block));
  CHECK(cache.take(4 * kMiB) == last);
  CHECK(cache.take(4 * kMiB) == small);
  CHECK(cache.take(4 * kMiB) == large);
}

TEST_CASE("block cache: what it has not given is not taken") {
  BlockCache cache;
  int other = 0;
  CHECK_FALSE(cache.put(&other));
  void* const block = cache.take(kMiB);
  CHECK(cache.put(block));
  CHECK_FALSE(cache.put(block));
}

TEST_CASE("block cache: what two rounds did not use goes back") {
  BlockCache cache;
  use(cache, {4 * kMiB, kMiB});
  cache.end_round();
  cache.end_round();
  use(cache, {kMiB});
  CHECK(cache.idle_bytes() == 5 * kMiB);
  cache.end_round();
  CHECK(cache.idle_bytes() == kMiB);
  cache.give_back_idle();
  CHECK(cache.idle_bytes() == 0);
}

TEST_CASE("block cache: sizes that differ a little are one") {
  BlockCache cache;
  use(cache, {9 * kMiB + 5});
  use(cache, {9 * kMiB + kMiB / 2});
  CHECK(cache.idle_bytes() == 10 * kMiB);
}

TEST_CASE("block cache: idle memory is bounded by what was in use") {
  BlockCache growing;
  for (size_t size = kMiB; size <= 64 * kMiB; size += kMiB / 4) use(growing, {size, size / 2});
  CHECK(growing.idle_bytes() <= (96 + 32) * kMiB);
  BlockCache shrinking;
  for (size_t size = 64 * kMiB; size >= kMiB; size = size * 2 / 5) use(shrinking, {size});
  CHECK(shrinking.idle_bytes() <= (64 + 32) * kMiB);
  BlockCache other;
  use(other, std::vector<size_t>(20, 5 * kMiB));
  use(other, std::vector<size_t>(60, kMiB));
  CHECK(other.idle_bytes() <= (100 + 32) * kMiB);
}

TEST_CASE("block cache: sizes that come in turn are all there in the end") {
  BlockCache cache;
  void* const weights = cache.take(40 * kMiB);
  const std::vector<std::vector<size_t>> steps = {
      {3 * kMiB, 3 * kMiB}, {5 * kMiB}, {kMiB, 2 * kMiB, kMiB}, {11 * kMiB, 5 * kMiB}, {24 * kMiB}};
  const auto step = [&] {
    for (const auto& sizes : steps) use(cache, sizes);
    cache.end_round();
  };
  for (int i = 0; i < 6; ++i) step();
  const long before = page_faults();
  for (int i = 0; i < 10; ++i) step();
  CHECK(page_faults() - before < 100);  // of 570 MiB that were written
  CHECK(cache.put(weights));
}

TEST_CASE("block cache: where the system gives none, it is asked again without what is idle") {
  BlockCache cache;
  use(cache, {kMiB});
  CHECK(cache.take(size_t{1} << 60) == nullptr);
  CHECK(cache.idle_bytes() == 0);
  CHECK(cache.take(kMiB));
}

TEST_CASE("block cache: threads may give and take at the same time") {
  BlockCache cache;
  std::vector<std::future<void>> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.push_back(std::async(std::launch::async, [&] {
      for (int i = 0; i < 200; ++i) {
        auto* const block = static_cast<char*>(cache.take(kMiB / 4 * (1 + i % 5)));
        block[0] = static_cast<char>(i);
        if (i % 10 == 0) cache.end_round();
        if (block[0] != static_cast<char>(i) || !cache.put(block)) throw 1;
      }
    }));
  for (auto& thread : threads) CHECK_NOTHROW(thread.get());
}

TEST_CASE("CPU memory: a large tensor's memory is the next one's") {
  keep_cpu_memory();
  constexpr int64_t kNumbers = 16 << 20;  // 64 MiB: the C library gives that back at each free
  const auto fill = [](float value) {
    const at::Tensor tensor = at::full({kNumbers}, value, at::kFloat);
    CHECK(tensor[kNumbers - 1].item<float>() == value);
    return tensor.data_ptr();
  };
  const void* const first = fill(1);
  const long before = page_faults();
  for (int i = 0; i < 10; ++i) CHECK(fill(static_cast<float>(i)) == first);
  CHECK(page_faults() - before < 30);  // of 640 MiB that were written, in pages of 2 MiB at most
  const size_t resident = resident_bytes();
  give_back_idle_cpu_memory();
  CHECK(resident_bytes() + 60 * kMiB < resident);
}

TEST_CASE("CPU memory: what is idle goes back before a checkpoint's copies are made") {
  keep_cpu_memory();
  const TinyRun run;
  const Pipeline pipeline = run.build();
  const auto fill = [] { at::full({16 << 20}, 1, at::kFloat); };
  fill();
  const size_t resident = resident_bytes();
  take_snapshot(pipeline, {});
  CHECK(resident_bytes() + 60 * kMiB < resident);
}

TEST_CASE("CPU memory: small and large tensors come and go in any order") {
  keep_cpu_memory();
  std::vector<at::Tensor> tensors;
  for (int64_t i = 0; i < 200; ++i) {
    tensors.push_back(at::full({1 + (i * 7919) % 100'000}, i, at::kLong));
    if (i % 3 == 2) tensors.erase(tensors.begin() + i / 3);
    if (i % 50 == 0) end_round_of_cpu_memory();
  }
  for (const at::Tensor& tensor : tensors) CHECK(tensor.min().equal(tensor.max()));
  CHECK_THROWS_AS(at::full({int64_t{1} << 58}, 1, at::kByte), c10::Error);
}
