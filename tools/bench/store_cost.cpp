// What a metric costs: the training thread's time for a step of 15 scalars, the time of all
// threads, bytes, bulk speed, and the time to open a store and create a run. Prints a figure a line
// (store_writing.py reads some); asserts nothing.
//
//   store_cost [FOLDER]     default: a new folder below the system's temporary one
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "store/metrics/metric_writer.h"
#include "store/store.h"

using namespace exprun;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kScalars = 15;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

NewRun make_run(int number) {
  NewRun run;
  run.uid = hash_hex(std::to_string(number) + std::to_string(::getpid()));
  run.name = "bench";
  run.recipe_hash = "hash";
  run.recipe_json = std::string(2000, 'r');
  run.resolved_toml = std::string(3000, 't') + std::to_string(number);
  run.folder = "bench-" + run.uid.substr(0, 8);
  for (int i = 0; i < 60; ++i) {
    run.parameters.emplace_back("table.key_" + std::to_string(i), std::to_string(i * 0.25));
  }
  return run;
}

std::vector<MetricWriter::Point> points_of(MetricWriter& writer) {
  std::vector<MetricWriter::Point> points;
  for (int i = 0; i < kScalars; ++i) {
    points.push_back({writer.series("series_" + std::to_string(i), false), 0.123456789 * i});
  }
  return points;
}

double percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1))];
}

constexpr int kPacedSteps = 10'000;

// Calls `body` 1,000 times a second, as fast as any training steps; the processor's time of it all.
template <typename Body>
double paced_cpu_seconds(Body&& body) {
  const double before = cpu_seconds();
  const auto start = Clock::now();
  for (int step = 1; step <= kPacedSteps; ++step) {
    std::this_thread::sleep_until(start + std::chrono::milliseconds(step));
    body(step);
  }
  return cpu_seconds() - before;
}

void measure_push(const std::filesystem::path& database) {
  Store store(database, Store::Access::read_write);
  MetricWriter writer(database, store.create_run(make_run(1)));
  auto points = points_of(writer);
  std::vector<double> microseconds;
  microseconds.reserve(kPacedSteps);
  const auto timed = [&](int step, auto&& body) {
    for (auto& point : points) point.value += 0.001;
    const auto before = Clock::now();
    body(step);
    microseconds.push_back(1e6 * seconds_since(before));
  };
  const double idle = paced_cpu_seconds([&](int step) { timed(step, [](int) {}); });
  microseconds.clear();
  const double busy =
      paced_cpu_seconds([&](int step) { timed(step, [&](int s) { writer.push(s, points); }); });
  writer.flush();
  std::printf("push, p50: %.2f us\npush, p99: %.2f us\npush, most: %.0f us\n",
              percentile(microseconds, 0.5), percentile(microseconds, 0.99),
              percentile(microseconds, 1.0));
  std::printf("all threads at 1,000 steps/s: %.1f %% of a core\nall threads, a scalar: %.2f us\n",
              100 * (busy - idle) / (kPacedSteps / 1000.0),
              1e6 * (busy - idle) / (kPacedSteps * kScalars));
}

double size_of(const Store& store) {
  return std::stod(store
                       .query("SELECT page_count * page_size FROM pragma_page_count, "
                              "pragma_page_size")
                       .rows[0][0]
                       .value());
}

void measure_bulk(const std::filesystem::path& database) {
  Store store(database, Store::Access::read_write);
  const double size_before = size_of(store);
  constexpr int kSteps = 200'000;
  const double cpu_before = cpu_seconds();
  const auto start = Clock::now();
  {
    MetricWriter writer(database, store.create_run(make_run(2)));
    auto points = points_of(writer);
    for (int step = 1; step <= kSteps; ++step) {
      for (auto& point : points) point.value += 0.001;
      writer.push(step, points);
    }
    writer.flush();
  }
  const double rows = 1.0 * kSteps * kScalars;
  const double seconds = seconds_since(start);
  const double cpu = cpu_seconds() - cpu_before;
  std::printf("bulk: %.0f rows/s, %.2f us of all threads a row\n", rows / seconds,
              1e6 * cpu / rows);
  std::printf("size of a scalar: %.1f bytes\n", (size_of(store) - size_before) / rows);
}

double time_of_sync(const std::filesystem::path& folder) {
  const auto file = folder / "sync";
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT, 0644);
  std::vector<double> milliseconds;
  for (int i = 0; i < 20; ++i) {
    const auto start = Clock::now();
    if (::write(fd, "x", 1) != 1 || ::fdatasync(fd) != 0) break;
    milliseconds.push_back(1e3 * seconds_since(start));
  }
  ::close(fd);
  std::filesystem::remove(file);
  return percentile(milliseconds, 0.5);
}

void measure_create(const std::filesystem::path& database) {
  std::vector<double> milliseconds;
  for (int i = 0; i < 50; ++i) {
    const auto start = Clock::now();
    Store store(database, Store::Access::read_write);
    store.create_run(make_run(100 + i));
    milliseconds.push_back(1e3 * seconds_since(start));
  }
  std::printf("open a store and create a run: p50 %.2f ms, p90 %.2f ms (one fdatasync: %.2f ms)\n",
              percentile(milliseconds, 0.5), percentile(milliseconds, 0.9),
              time_of_sync(database.parent_path()));
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = (std::filesystem::temp_directory_path() / "store-cost-XXXXXX").string();
  const std::filesystem::path folder =
      std::filesystem::path(argc > 1 ? argv[1] : ::mkdtemp(name.data())) / "store";
  std::filesystem::create_directories(folder);
  measure_push(folder / "exprun.db");
  measure_bulk(folder / "exprun.db");
  measure_create(folder / "exprun.db");
  std::filesystem::remove_all(folder);
  if (argc == 1) std::filesystem::remove(folder.parent_path());
  return 0;
}
