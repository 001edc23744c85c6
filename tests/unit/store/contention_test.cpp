// Many processes that write to one store while others read it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/atomic_file.h"
#include "store/metric_writer.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kSeries = 4;
constexpr int64_t kStepsAtOnce = 25;  // 100 rows

struct Contention {
  int writers, readers;
  milliseconds duration;
  milliseconds pause;  // of a writer, between two batches of 100 rows
};

// Of all processes together.
struct Tally {
  std::atomic<int64_t> steps{0}, reads{0}, worst_stall_us{0};
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

void keep_highest(std::atomic<int64_t>& highest, int64_t value) {
  int64_t now = highest;
  while (now < value && !highest.compare_exchange_weak(now, value)) continue;
}

void write_until(Clock::time_point end, int number, const std::filesystem::path& database,
                 milliseconds pause, Tally& tally) {
  Store store(database, Store::Access::read_write);
  MetricWriter writer(database, store.create_run(new_run("abc" + std::to_string(number))));
  int64_t step = 0;
  while (Clock::now() < end) {
    for (int64_t i = 0; i < kStepsAtOnce; ++i) {
      MetricWriter::Point points[kSeries];
      ++step;
      for (int s = 0; s < kSeries; ++s)
        points[s] = {writer.series("s" + std::to_string(s), false), static_cast<double>(step)};
      writer.push(step, points);
    }
    const auto start = Clock::now();
    writer.flush();
    keep_highest(
        tally.worst_stall_us,
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
    std::this_thread::sleep_for(pause);
  }
  tally.steps += step;
}

void read_until(Clock::time_point end, const std::filesystem::path& database, Tally& tally) {
  while (Clock::now() < end) {
    const Store store(database, Store::Access::read_only);
    for (const RunRow& run : store.runs())
      for (const SeriesRow& series : store.series(run.id))
        if (store.metrics(series.id, series.last_step - 10).size() < 10)
          throw std::runtime_error("rows of a summary are missing");
    ++tally.reads;
  }
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

void contend(const Contention& how) {
  const TemporaryFolder folder;
  { const Store store(folder.database(), Store::Access::read_write); }
  SharedTally tally;
  const auto said = folder.path / "said";
  const auto end = Clock::now() + how.duration;
  std::vector<pid_t> children;
  for (int i = 0; i < how.writers; ++i)
    children.push_back(
        child_of(said, [&] { write_until(end, 100 + i, folder.database(), how.pause, *tally); }));
  for (int i = 0; i < how.readers; ++i)
    children.push_back(child_of(said, [&] { read_until(end, folder.database(), *tally); }));
  std::uintmax_t largest_wal = 0;
  for (std::error_code none; Clock::now() < end; std::this_thread::sleep_for(milliseconds(50))) {
    const auto size = std::filesystem::file_size(folder.database().string() + "-wal", none);
    if (!none) largest_wal = std::max(largest_wal, size);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const Store store(folder.database(), Store::Access::read_only);
  CHECK(value_of(store, "SELECT count(*) FROM metric") == std::to_string(tally->steps * kSeries));
  CHECK(value_of(store, "PRAGMA integrity_check") == "ok");
  CHECK(read_file(said) == "");
  CHECK(tally->reads > 0);
  MESSAGE("worst stall " << (tally->worst_stall_us / 1000) << " ms, " << (tally->steps * kSeries)
                         << " rows, " << tally->reads.load() << " reads, largest WAL "
                         << largest_wal / 1024 << " KiB");
  CHECK(tally->worst_stall_us <= 1'000'000);
  CHECK(largest_wal < 64 << 20);
}

}  // namespace

TEST_SUITE_BEGIN("slow");

TEST_CASE("contention: paced writers and readers, nobody is turned away or waits for long") {
  contend({16, 4, milliseconds(2'000), milliseconds(250)});
}
TEST_CASE("contention: writers without a pause and readers") {
  contend({16, 4, milliseconds(2'000), milliseconds(0)});
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("long");

TEST_CASE("contention: 64 paced writers and 8 readers for 30 s") {
  contend({64, 8, milliseconds(30'000), milliseconds(250)});
}
TEST_CASE("contention: 64 writers without a pause and 8 readers for 30 s") {
  contend({64, 8, milliseconds(30'000), milliseconds(0)});
}

TEST_SUITE_END();
