#include "tests/unit/store/packed_runs.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "store/metric_writer.h"
#include "tests/unit/store/store_fixture.h"

namespace exprun {
namespace {

using Limits = std::numeric_limits<double>;

// One of the numbers that are easily lost, or any bits at all.
double awkward(int64_t step) {
  static const double kOnes[] = {0.0,
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::max(),
                                 Limits::min(),
                                 Limits::denorm_min(),
                                 -1.0,
                                 0.1,
                                 Limits::quiet_NaN()};
  if (step % 3 == 0) return kOnes[static_cast<size_t>(step / 3) % std::size(kOnes)];
  std::mt19937_64 random(static_cast<uint64_t>(step));
  double value = 0;
  const uint64_t bits = random();
  std::memcpy(&value, &bits, sizeof value);
  return std::isnan(value) ? 1.5 : value;
}

}  // namespace

void write_values(const std::filesystem::path& database, int64_t run, int64_t first, int64_t last) {
  MetricWriter writer(database, run);
  const auto loss = writer.series("train/loss", false);
  const auto speed = writer.series("tokens_per_s", true);
  const auto evaluated = writer.series("val/loss", false);
  for (int64_t step = first; step <= last; ++step) {
    const MetricWriter::Point points[] = {
        {loss, static_cast<double>(step) / 7}, {speed, awkward(step)}, {evaluated, -1.0}};
    writer.push(step, {points, step % 3 == 0 ? size_t{3} : size_t{2}});
  }
}

int64_t ended_run(Store& store, const std::string& digits, int64_t steps) {
  const int64_t id = store.create_run(new_run(digits));
  write_values(store.file(), id, 1, steps);
  store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  return id;
}

std::string all_of(const Store& store, const std::string& sql) {
  std::string text;
  const auto result = store.query(sql);
  for (size_t i = 0; i < result.rows.size(); ++i) {
    for (size_t k = 0; k < result.rows[i].size(); ++k)
      text += result.rows[i][k].value_or("NULL") + result.types[i][k] + ' ';
    text += '\n';
  }
  return text;
}

std::string everything(const Store& store) {
  std::string text = all_of(store,
                            "SELECT r.uid, m.name, m.step, m.value, m.kind, m.seconds FROM metrics "
                            "AS m JOIN runs AS r USING (run) ORDER BY 1, 2, 3");
  text += all_of(store,
                 "SELECT r.uid, s.name, s.count, s.non_finite, s.first_non_finite_step, s.last, "
                 "s.last_step, s.min, s.min_step, s.max, s.max_step FROM series AS s "
                 "JOIN runs AS r USING (run) ORDER BY 1, 2");
  for (const RunRow& run : store.runs()) {
    store.each_value(run.id, false, [&](const ValueRow& row) {
      uint64_t bits = 0;
      std::memcpy(&bits, &row.value, sizeof bits);
      text += run.uid + row.name + std::to_string(row.step) + ' ' + std::to_string(bits) + ' ' +
              std::to_string(row.seconds) + '\n';
    });
  }
  return text;
}

std::string values_health(const Store& store) {
  for (const auto& [name, value] : store.health())
    if (name == "values") return value;
  return "";
}

void check_sound(const Store& store) {
  CHECK(store.health().back().second == "ok");
  CHECK(values_health(store) == "ok");
  CHECK(value_of(store,
                 "SELECT count(*) FROM packed_steps WHERE id NOT IN (SELECT steps FROM "
                 "packed_metric)") == "0");
}

std::string rows_and_packs(const Store& store) {
  return value_of(store,
                  "SELECT (SELECT count(*) FROM metric) || ' rows, ' || (SELECT count(*) "
                  "FROM packed_metric) || ' packs'");
}

}  // namespace exprun
