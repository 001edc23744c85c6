#include "tests/unit/store/contention.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/files/file.h"
#include "store/metrics/metric_writer.h"
#include "tests/unit/store/store_fixture.h"

namespace exprun {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kSeries = 4;
constexpr int64_t kStepsAtOnce = 25;  // 100 rows

// Of all processes together.
struct Tally {
  std::atomic<int64_t> steps{0}, fewest_steps{std::numeric_limits<int64_t>::max()};
  std::atomic<int64_t> stalls{0}, stalled_us{0}, worst_stall_us{0};
  std::atomic<int64_t> reads{0};
};

// Memory that the children share with this process.
class SharedTally {
 public:
  SharedTally()
      : memory_(::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)),
        tally_(new (memory_) Tally) {}
  ~SharedTally() { ::munmap(memory_, sizeof(Tally)); }
  SharedTally(const SharedTally&) = delete;
  SharedTally& operator=(const SharedTally&) = delete;
  Tally& operator*() { return *tally_; }
  Tally* operator->() { return tally_; }

 private:
  void* memory_;
  Tally* tally_;
};

template <typename Better>
void keep_better(std::atomic<int64_t>& best, int64_t value, Better better) {
  int64_t now = best;
  while (better(value, now) && !best.compare_exchange_weak(now, value)) continue;
}

void note_stall(Tally& tally, Clock::duration stall) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(stall).count();
  ++tally.stalls;
  tally.stalled_us += us;
  keep_better(tally.worst_stall_us, us, std::greater<>());
}

void write_until(Clock::time_point end, int number, const std::filesystem::path& database,
                 milliseconds pause, Tally& tally) {
  Store store(database, Store::Access::read_write);
  MetricWriter writer(database, store.create_run(new_run("abc" + std::to_string(number))));
  int64_t step = 0;
  do {  // also one that has begun late
    for (int64_t i = 0; i < kStepsAtOnce; ++i) {
      MetricWriter::Point points[kSeries];
      ++step;
      for (int s = 0; s < kSeries; ++s)
        points[s] = {writer.series("s" + std::to_string(s), false), static_cast<double>(step)};
      writer.push(step, points);
    }
    const auto start = Clock::now();
    writer.flush();
    note_stall(tally, Clock::now() - start);
    std::this_thread::sleep_for(pause);
  } while (Clock::now() < end);
  tally.steps += step;
  keep_better(tally.fewest_steps, step, std::less<>());
}

void read_until(Clock::time_point end, const std::filesystem::path& database, milliseconds pause,
                Tally& tally) {
  do {
    const Store store(database, Store::Access::read_only);
    for (const RunRow& run : store.runs())
      for (const SeriesRow& series : store.series(run.id))
        if (store.metrics(series.id, series.last_step - 10).size() < 10)
          throw std::runtime_error("rows of a summary are missing");
    ++tally.reads;
    std::this_thread::sleep_for(pause);
  } while (Clock::now() < end);
}

template <typename Body>
pid_t child_of(const std::filesystem::path& said, Body&& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int fd = ::open(said.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(fd, STDERR_FILENO);  // a writer in trouble warns
  int result = 1;
  try {
    body();
    result = 0;
  } catch (const std::exception& error) {
    ::dprintf(STDERR_FILENO, "%s\n", error.what());
  }
  ::_exit(result);
}

int64_t largest_size_until(Clock::time_point end, const std::filesystem::path& file) {
  std::uintmax_t largest = 0;
  for (std::error_code none; Clock::now() < end; std::this_thread::sleep_for(milliseconds(50))) {
    const auto size = std::filesystem::file_size(file, none);
    if (!none) largest = std::max(largest, size);
  }
  return static_cast<int64_t>(largest);
}

int64_t failures_of(const std::vector<pid_t>& children) {
  return std::count_if(children.begin(), children.end(), [](pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return status != 0;
  });
}

}  // namespace

ContentionResult contend(const Contention& how) {
  const DatabaseFolder folder;
  const auto database = folder.database();
  { const Store store(database, Store::Access::read_write); }
  SharedTally tally;
  const auto said = folder.path() / "said";
  const auto end = Clock::now() + how.duration;
  std::vector<pid_t> children;
  for (int i = 0; i < how.writers; ++i)
    children.push_back(
        child_of(said, [&] { write_until(end, 100 + i, database, how.writers_pause, *tally); }));
  for (int i = 0; i < how.readers; ++i)
    children.push_back(
        child_of(said, [&] { read_until(end, database, how.readers_pause, *tally); }));
  ContentionResult result;
  result.largest_wal_bytes = largest_size_until(end, database.string() + "-wal");
  result.failed_processes = failures_of(children);
  const Store store(database, Store::Access::read_write);  // takes in what lies in journals
  result.rows = tally->steps * kSeries;
  result.rows_in_store = std::stoll(value_of(store, "SELECT count(*) FROM metric"));
  result.rows_of_slowest = tally->fewest_steps * kSeries;
  result.reads = tally->reads;
  result.mean_stall_ms = 1e-3 * static_cast<double>(tally->stalled_us) /
                         static_cast<double>(std::max<int64_t>(tally->stalls, 1));
  result.worst_stall_ms = 1e-3 * static_cast<double>(tally->worst_stall_us);
  result.integrity = value_of(store, "PRAGMA integrity_check");
  result.warnings = read_file(said);
  return result;
}

}  // namespace exprun
