#include "store/metrics/metric_writer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "base/diagnostic.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void push(MetricWriter& writer, int64_t step, MetricWriter::Series series, double value) {
  const MetricWriter::Point point{series, value};
  writer.push(step, {&point, 1});
}

std::vector<double> values(const Store& store, int64_t series) {
  std::vector<double> all;
  for (const MetricRow& row : store.metrics(series)) all.push_back(row.value);
  return all;
}

}  // namespace

TEST_CASE("metric writer: what was pushed is read back to the bit") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  MetricWriter writer(folder.database(), run);
  const auto loss = writer.series("train/loss", false);
  const auto speed = writer.series("tokens_per_s", true);
  CHECK(writer.series("train/loss", false) == loss);
  const std::vector<double> given = {0.1, 1.0 / 3, 4.9e-324, -2.5e-7, 1.7976931348623157e308};
  for (size_t i = 0; i < given.size(); ++i) {
    const MetricWriter::Point points[] = {{loss, given[i]}, {speed, 1000.0 + i}};
    writer.push(static_cast<int64_t>(i), points);
  }
  writer.flush();

  const auto series = store.series(run);
  REQUIRE(series.size() == 2);
  CHECK(series[0].name == "tokens_per_s");
  CHECK(series[0].timing);
  CHECK(series[1].name == "train/loss");
  CHECK(!series[1].timing);
  const auto read = values(store, series[1].id);
  REQUIRE(read.size() == given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    CAPTURE(i);
    CHECK(std::memcmp(&read[i], &given[i], sizeof(double)) == 0);
  }
  CHECK(store.run(run)->last_step == 4);
  CHECK(store.metrics(series[1].id, 2).size() == 2);
}

TEST_CASE("metric writer: NaN and infinities are kept, summarised and found") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  MetricWriter writer(folder.database(), run);
  const auto loss = writer.series("loss", false);
  push(writer, 1, loss, 3.5);
  push(writer, 2, loss, kInfinity);
  push(writer, 3, loss, -kInfinity);
  push(writer, 4, loss, 2.5);
  push(writer, 5, loss, kNan);
  writer.flush();

  const SeriesRow series = store.series(run).at(0);
  const auto read = values(store, series.id);
  REQUIRE(read.size() == 5);
  CHECK(read[1] == kInfinity);
  CHECK(read[2] == -kInfinity);
  CHECK(std::isnan(read[4]));
  CHECK(series.count == 5);
  CHECK(series.non_finite == 3);
  CHECK(series.first_non_finite_step == 2);
  CHECK(std::isnan(series.last));
  CHECK(series.last_step == 5);
  CHECK(series.min == 2.5);
  CHECK(series.min_step == 4);
  CHECK(series.max == 3.5);
  CHECK(series.max_step == 1);
  CHECK(value_of(store, "SELECT group_concat(step || kind) FROM metrics WHERE kind <> 'finite'") ==
        "2inf,3-inf,5nan");
}

TEST_CASE("metric writer: a series without a finite value has no extremes") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  MetricWriter writer(folder.database(), run);
  push(writer, 7, writer.series("loss", false), kNan);
  writer.flush();
  const SeriesRow series = store.series(run).at(0);
  CHECK(std::isnan(series.min));
  CHECK(std::isnan(series.max));
  CHECK(series.count == 1);
  CHECK(series.last_step == 7);
}

TEST_CASE("metric writer: a second value of a step replaces the first, also in the summary") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  MetricWriter writer(folder.database(), run);
  const auto loss = writer.series("loss", false);
  const auto within_a_batch = [&] {
    push(writer, 1, loss, 9);
    push(writer, 1, loss, 5);
  };
  within_a_batch();
  push(writer, 2, loss, 7);
  writer.flush();
  push(writer, 2, loss, 4);  // of an earlier batch
  push(writer, 0, loss, 6);  // out of order
  writer.flush();

  const SeriesRow series = store.series(run).at(0);
  CHECK(values(store, series.id) == std::vector<double>{6, 5, 4});
  CHECK(series.count == 3);
  CHECK(series.last == 4);
  CHECK(series.last_step == 2);
  CHECK(series.min == 4);
  CHECK(series.max == 6);
  CHECK(series.max_step == 0);
}

TEST_CASE("metric writer: the summary that grew equals the one made anew, ties included") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  const std::vector<double> given = {2, 1, kNan, 1, 3, kInfinity, 3, 0.5, 0.5, 2};
  {
    MetricWriter writer(folder.database(), run);
    const auto grown = writer.series("grown", false);
    const auto anew = writer.series("anew", false);
    for (size_t i = 0; i < given.size(); ++i) {
      push(writer, static_cast<int64_t>(i), grown, given[i]);
      push(writer, static_cast<int64_t>(i), anew, given[i]);
      if (i % 3 == 0) writer.flush();
    }
    push(writer, 9, anew, 2);
  }
  CHECK(value_of(store,
                 "SELECT count(*) FROM (SELECT DISTINCT count, non_finite, first_non_finite_step, "
                 "last, last_step, min, min_step, max, max_step FROM series)") == "1");
  CHECK(store.series(run).at(0).min_step == 7);
  CHECK(store.series(run).at(0).max_step == 4);
}

TEST_CASE("metric writer: a series may appear at any time, and more values than the ring holds") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  constexpr int64_t kSteps = 100'000;
  {
    MetricWriter writer(folder.database(), run);
    const auto first = writer.series("first", false);
    for (int64_t step = 0; step < kSteps; ++step) {
      const auto second = step > 10 ? writer.series("second", false) : first;
      const MetricWriter::Point points[] = {{first, 1.0 * step}, {second, 2.0 * step}};
      writer.push(step, points);
    }
  }  // what is left is written at the end
  const auto series = store.series(run);
  REQUIRE(series.size() == 2);
  CHECK(series[0].count == kSteps);
  CHECK(series[1].count == kSteps - 11);
  CHECK(store.metrics(series[0].id).back().value == 1.0 * (kSteps - 1));
}

TEST_CASE("metric writer: another thread may post while the training thread pushes") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  constexpr int64_t kSteps = 20'000, kPosts = 200;
  {
    MetricWriter writer(folder.database(), run);
    std::thread other([&] {
      for (int64_t step = 1; step <= kPosts; ++step) {
        const MetricWriter::Point point{writer.series("system/load", true), 0.5 * step};
        writer.post(step, {&point, 1});
      }
    });
    const auto loss = writer.series("loss", false);
    for (int64_t step = 1; step <= kSteps; ++step) push(writer, step, loss, 1.0 * step);
    other.join();
    const MetricWriter::Point last{writer.series("system/load", true), 9};
    writer.post(kPosts, {&last, 1});  // of a step that has one
    writer.flush();
    CHECK(value_of(store, "SELECT count(*) FROM metric") == std::to_string(kSteps + kPosts));
  }
  const auto series = store.series(run);
  REQUIRE(series.size() == 2);
  CHECK(series[0].count == kSteps);
  CHECK(series[1].name == "system/load");
  CHECK(series[1].timing);
  CHECK(series[1].count == kPosts);
  CHECK(series[1].last == 9);
}

TEST_CASE("metric writer: wrong use is told apart from trouble") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  MetricWriter writer(folder.database(), run);
  writer.series("loss", false);
  CHECK_THROWS_WITH_AS(writer.series("loss", true), "store: series 'loss' is both timing and not",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(
      MetricWriter(folder.database(), 9),
      ("store: cannot record metrics in '" + folder.database().string() + "': it has no run 9")
          .c_str(),
      Error);
}

TEST_CASE("metric writer: a writer that another attempt has overtaken writes to the archive") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  MetricWriter stray(folder.database(), run);
  const auto loss = stray.series("loss", false);
  push(stray, 1, loss, 1);
  stray.flush();
  store.begin_attempt(run, 2);
  push(stray, 2, loss, 2);
  push(stray, 3, loss, 3);
  stray.flush();
  CHECK(value_of(store, "SELECT group_concat(step) FROM metrics") == "1,2");
  CHECK(value_of(store, "SELECT group_concat(attempt || ':' || step) FROM metrics_archived") ==
        "1:3");
  CHECK(store.attempts(run).at(1).last_step == 2);
}
