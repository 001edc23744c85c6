// What the training thread does must cost next to nothing.
#include <doctest/doctest.h>

#include <array>
#include <memory>

#include "store/metrics/metric_writer.h"
#include "tests/unit/store/counted_allocations.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

TEST_CASE("metric writer: a push allocates nothing, also while the thread writes") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  MetricWriter writer(folder.database(), store.create_run(new_run("1a")));
  std::array<MetricWriter::Point, 15> points;
  for (size_t i = 0; i < points.size(); ++i)
    points[i] = {writer.series("series_" + std::to_string(i), false), 0.5};
  constexpr int64_t kSteps = 50'000;  // ten times what the ring holds: it is emptied meanwhile
  const int64_t before = allocations();
  for (int64_t step = 1; step <= kSteps; ++step) writer.push(step, points);
  CHECK(allocations() == before);  // training does not pay for its record
  const auto counted = std::make_unique<int>(1);
  CHECK(allocations() == before + 1);
  writer.flush();
  CHECK(value_of(store, "SELECT sum(count) FROM series") ==
        std::to_string(kSteps * static_cast<int64_t>(points.size())));
}
