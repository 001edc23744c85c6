// What tables and plots read besides whole rows: values at a step, curves, thinned ones, runs of a
// sweep.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "store/metrics/metric_writer.h"
#include "support/refusal.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

// A run with these values of val/loss at the steps 10, 20, ...
int64_t add_run(Store& store, const std::string& uid, const std::vector<double>& losses) {
  const int64_t run = store.create_run(new_run(uid));
  MetricWriter writer(store.file(), run);
  const auto series = writer.series("val/loss", false);
  for (size_t i = 0; i < losses.size(); ++i) {
    const MetricWriter::Point point{series, losses[i]};
    writer.push(10 * (static_cast<int64_t>(i) + 1), {&point, 1});
  }
  return run;
}

}  // namespace

TEST_CASE("store: the values of a series at a step, of the runs that have one there") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t first = add_run(store, "1a", {3, 2});
  const int64_t second = add_run(store, "2b", {5, std::nan(""), 4});
  CHECK(store.values_at("val/loss", 10) == std::map<int64_t, double>{{first, 3}, {second, 5}});
  CHECK(store.values_at("val/loss", 30) == std::map<int64_t, double>{{second, 4}});
  CHECK(std::isnan(store.values_at("val/loss", 20).at(second)));
  CHECK(store.values_at("val/loss", 15).empty());
  CHECK(store.values_at("train/loss", 10).empty());
}

TEST_CASE("store: the runs whose series has an infinite value") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const int64_t above = add_run(store, "1a", {3, kInfinity, 2});
  const int64_t below = add_run(store, "2b", {3, -kInfinity, nan});
  add_run(store, "3c", {3, nan});
  const std::string name = store.series(above).at(0).name;
  CHECK(store.runs_with_infinity(name, kInfinity) == std::set<int64_t>{above});
  CHECK(store.runs_with_infinity(name, -kInfinity) == std::set<int64_t>{below});
  CHECK(store.runs_with_infinity("none", kInfinity).empty());
}

TEST_CASE("store: each value of a curve, until a visitor throws") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t first = store.series(add_run(store, "1a", {3, std::nan(""), 1})).at(0).id;
  std::vector<int64_t> steps;
  store.each_metric(first, [&](const MetricRow& row) { steps.push_back(row.step); });
  CHECK(steps == std::vector<int64_t>{10, 20, 30});
  steps.clear();
  const auto refuse = [&](const MetricRow& row) {
    steps.push_back(row.step);
    if (row.step == 20) throw std::out_of_range("enough");
  };
  CHECK_THROWS_AS(store.each_metric(first, refuse), std::out_of_range);
  CHECK(steps == std::vector<int64_t>{10, 20});
  CHECK(store.metrics(first).size() == 3);  // as if nothing had been
  store.each_metric(first + 1, [&](const MetricRow&) { FAIL("it has no values"); });
  CHECK(refusal(ExitCode::bad_recipe, [&] {
          store.query("SELECT each_row(1)");
        }).find("each_row() is exprun's own") != std::string::npos);
}

TEST_CASE("store: a thinned curve has its ends, and no more points than it may") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  std::vector<double> losses;
  for (int i = 1; i <= 1000; ++i) losses.push_back(1000 - i);
  const int64_t series = store.series(add_run(store, "1a", losses)).at(0).id;
  const auto thinned = store.thinned_metrics(series, 12);
  REQUIRE(thinned.size() == 12);
  CHECK(thinned.front().step == 10);
  CHECK(thinned.back().step == 10'000);
  for (size_t i = 1; i < thinned.size(); ++i) {
    CHECK(std::abs(thinned[i].step - thinned[i - 1].step - 908) <= 10);
    CHECK(thinned[i].value == losses[static_cast<size_t>(thinned[i].step / 10 - 1)]);
  }
  CHECK(store.thinned_metrics(series, 5000).size() == 1000);
  CHECK(store.thinned_metrics(series, 1).size() == 1);
  CHECK(store.thinned_metrics(series + 1, 12).empty());
  const int64_t point = store.series(add_run(store, "2b", {7})).at(0).id;
  CHECK(store.thinned_metrics(point, 12).size() == 1);
}

TEST_CASE("store: the runs of a sweep by its id, name or uid") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  CHECK(refusal(ExitCode::no_such_run, [&] { store.runs_of_sweep(store.find_sweep("lr").id); }) ==
        "store: no sweep 'lr' in '" + folder.database().string() + "'; it has no sweeps yet");
  const SweepRow older = store.find_or_create_sweep("lr", "{}");
  const SweepRow newer = store.find_or_create_sweep("lr", "{\"a\": 1}");
  const int64_t first = store.create_run(new_run("1a")), second = store.create_run(new_run("2b"));
  const int64_t third = store.create_run(new_run("3c"));
  store.record_trials(older.id, {{1, "h1", "a=1", third}});
  store.record_trials(newer.id,
                      {{1, "h2", "a=2", second}, {2, "h3", "a=3", first}, {3, "h4", "", {}}});
  CHECK(store.runs_of_sweep(store.find_sweep("lr").id) == std::vector<int64_t>{second, first});
  CHECK(store.runs_of_sweep(store.find_sweep(std::to_string(older.id)).id) ==
        std::vector<int64_t>{third});
  CHECK(store.runs_of_sweep(store.find_sweep(older.uid.substr(0, 8)).id) ==
        std::vector<int64_t>{third});
  store.record_trials(older.id, {{2, "h3", "a=3", first}});
  CHECK(store.sweeps_with_run(first) == std::vector<int64_t>{older.id, newer.id});
  CHECK(store.sweeps_with_run(second) == std::vector<int64_t>{newer.id});
  store.remove_run(second);
  CHECK(store.runs_of_sweep(store.find_sweep(newer.uid).id) == std::vector<int64_t>{first});
  CHECK(refusal(ExitCode::no_such_run, [&] {
          store.runs_of_sweep(store.find_sweep("lrr").id);
        }).ends_with("'; did you mean 'lr'?"));
  CHECK(refusal(ExitCode::no_such_run, [&] {
          store.runs_of_sweep(store.find_sweep("77").id);
        }).ends_with("'; `exprun sweep ls` lists its sweeps"));
}

TEST_CASE("store: the paths of the parameters that one of these runs has changed") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  NewRun run = new_run("1a");
  for (ParameterRow& parameter : run.parameters) parameter.changed = false;
  const int64_t first = store.create_run(run);
  CHECK(store.changed_parameter_paths({first}).empty());
  run.uid = new_run("2b").uid;
  run.parameters.front().changed = true;
  const int64_t second = store.create_run(run);
  CHECK(store.changed_parameter_paths({first, second}) == std::vector<std::string>{"optimizer.lr"});
  CHECK(store.changed_parameter_paths({first}).empty());
  CHECK(store.runs_that_changed("optimizer.lr") == std::set<int64_t>{second});
  CHECK(store.runs_that_changed("model.type").empty());
  CHECK(store.parameter_paths().size() == 3);
}
