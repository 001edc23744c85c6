// How long a large store is read: the tables and the best of 10,000 runs, a curve of 100,000
// points. Prints; asserts nothing.
//
//   store_scale [FOLDER [RUNS [POINTS]]]  FOLDER: makes a store of RUNS (10,000) there, whose 10
//                                         series have POINTS (10) each, and measures nothing
//   store_scale --curves FOLDER           makes a store of 4 runs with a curve of 100,000 points
//                                         each
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "control/command/stored/run_values.h"
#include "control/command/stored/stored_runs.h"
#include "control/report/compare/report_columns.h"
#include "control/report/runs_table.h"
#include "store/metrics/metric_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/store/many_runs.h"

using namespace exprun;

namespace {

constexpr int kRuns = 10'000, kSeriesPoints = 10, kPoints = 100'000, kTries = 7;
constexpr int64_t kNow = 1'800'000'000'000;

double processor_ms() {
  timespec now = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// The processor's time of the quickest of some tries: the machine may have other work, and all is
// in its memory. `read` says how much it has read.
template <typename Read>
void print_time_of(const char* what, Read&& read) {
  double least = HUGE_VAL;
  size_t size = 0;
  for (int i = 0; i < kTries; ++i) {
    const double start = processor_ms();
    size = read();
    least = std::min(least, processor_ms() - start);
  }
  std::printf("%s: %.1f ms (%zu)\n", what, least, size);
}

void make_runs(const StoreFolder& folder, int runs, int points) {
  std::filesystem::create_directories(folder.path);
  { const Store store(folder.database(), Store::Access::read_write); }
  add_runs(folder.database(), 1, runs, points);
}

std::vector<std::optional<SeriesRow>> losses_of(const std::vector<ReportedRun>& runs) {
  std::vector<std::optional<SeriesRow>> losses;
  for (const ReportedRun& run : runs) losses.push_back(run.val_loss);
  return losses;
}

void measure_tables(const StoreFolder& folder) {
  make_runs(folder, kRuns, kSeriesPoints);
  print_time_of("ls of 10,000 runs, bytes", [&] {
    const Store store = open_store(folder);
    return to_plain(ls_table(all_runs(store, folder, store.runs()), kNow), {}).size();
  });
  print_time_of("the losses and one parameter of 10,000 runs with 20 parameters each, cells", [&] {
    const Store store = open_store(folder);
    const auto runs = all_runs(store, folder, store.runs());
    const auto paths = store.changed_parameter_paths(ids_of(runs));
    return usual_metrics(runs, {}, losses_of(runs)).size() * runs.size() +
           parameter_values(store, runs, paths.at(0)).cells.size();
  });
  print_time_of("@best among 10,000 runs, its id",
                [&] { return static_cast<size_t>(open_store(folder).find_run("@best").id); });
}

// A loss with noise, as a training step by step has.
double noisy(int64_t step, int64_t run) {
  const auto x = static_cast<double>(step);
  return 3 + 8 / std::sqrt(x + 1) + 0.2 * std::sin(x * x + static_cast<double>(run));
}

void add_curve(Store& store, const std::filesystem::path& database, int64_t run) {
  {
    MetricWriter writer(database, run);
    const auto series = writer.series("train/loss", false);
    for (int64_t step = 1; step <= kPoints; ++step)
      writer.push(step, std::vector<MetricWriter::Point>{{series, noisy(step, run)}});
  }
  store.end_attempt(run, RunState::finished, 0, std::nullopt, "");
}

// Of one run; returns its id.
int64_t make_curve(Store& store, char name) {
  NewRun curve;
  curve.uid = std::string(32, name);
  curve.name = curve.folder = std::string("curve-") + name;
  const int64_t run = store.create_run(curve);
  add_curve(store, store.file(), run);
  return run;
}

void make_curves(const StoreFolder& folder) {
  std::filesystem::create_directories(folder.path);
  Store store(folder.database(), Store::Access::read_write);
  for (const char name : {'a', 'b', 'c', 'd'}) make_curve(store, name);
}

void measure_curve(const StoreFolder& folder) {
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = make_curve(store, 'c');
  const int64_t series = store.series(run).at(0).id;
  const auto by_program = [&] { return store.metrics(series).size(); };
  const auto by_sql = [&] {
    const auto rows =
        store.query("SELECT step, value FROM metrics WHERE run = " + std::to_string(run) +
                    " AND name = 'train/loss'");
    return rows.rows.size();
  };
  print_time_of("a curve of 100,000 points", by_program);
  print_time_of("the same by SQL", by_sql);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && argv[1] == std::string_view("--curves")) {
    make_curves({argv[2], "runs"});
    return 0;
  }
  if (argc > 1 && *argv[1] == '-') {
    std::fprintf(stderr, "usage: store_scale [FOLDER [RUNS [POINTS]] | --curves FOLDER]\n");
    return 2;
  }
  if (argc > 1) {
    make_runs({argv[1], "runs"}, argc > 2 ? std::atoi(argv[2]) : kRuns,
              argc > 3 ? std::atoi(argv[3]) : kSeriesPoints);
    return 0;
  }
  const TemporaryFolder tables, curve;
  measure_tables({tables.path(), "runs"});
  measure_curve({curve.path(), "runs"});
  return 0;
}
