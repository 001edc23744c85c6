// Training must not pay for its record: every allocation of this program is counted, by thread.
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <new>

#include "store/metric_writer.h"
#include "tests/unit/store/store_fixture.h"

namespace {

thread_local int64_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

using namespace exprun;

TEST_CASE("metric writer: a push allocates nothing, also while the thread writes") {
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  MetricWriter writer(folder.database(), store.create_run(new_run("1a")));
  std::array<MetricWriter::Point, 15> points;
  for (size_t i = 0; i < points.size(); ++i)
    points[i] = {writer.series("series_" + std::to_string(i), false), 0.5};
  constexpr int64_t kSteps = 50'000;  // ten times what the ring holds: it is emptied meanwhile
  const int64_t before = allocations;
  for (int64_t step = 1; step <= kSteps; ++step) writer.push(step, points);
  CHECK(allocations == before);
  const auto counted = std::make_unique<int>(1);
  CHECK(allocations == before + 1);
  writer.flush();
  CHECK(value_of(store, "SELECT sum(count) FROM series") ==
        std::to_string(kSteps * static_cast<int64_t>(points.size())));
}
