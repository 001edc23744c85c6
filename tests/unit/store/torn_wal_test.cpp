// A write-ahead log that was torn or garbled, as after a loss of power: what was committed before
// the damage is there, whole, and nothing of what comes after it.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "store/metrics/metric_writer.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

constexpr size_t kHeaderBytes = 32;        // of the WAL
constexpr size_t kFrameBytes = 24 + 4096;  // a frame: its header and a page
constexpr int kSeries = 3;
constexpr int64_t kSteps = 12;

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// A process that stores steps, a transaction each, and dies without closing its store. What it
// leaves is read after its death: nobody has the files open.
void write_and_die(const std::filesystem::path& database) {
  const pid_t child = ::fork();
  if (child == 0) {
    Store store(database, Store::Access::read_write);
    MetricWriter writer(database, store.create_run(new_run("1a")));
    for (int64_t step = 1; step <= kSteps; ++step) {
      MetricWriter::Point points[kSeries];
      for (int i = 0; i < kSeries; ++i)
        points[i] = {writer.series("s" + std::to_string(i), false), static_cast<double>(step)};
      writer.push(step, points);
      writer.flush();
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(status == 0);
}

// The number of a frame's last commit: 0 in its header for frames within a transaction.
bool is_commit(const std::string& wal, size_t frame) {
  const size_t at = kHeaderBytes + frame * kFrameBytes + 4;
  return wal.substr(at, 4) != std::string(4, '\0');
}

// Commits of metrics that lie wholly in the first `frames` frames.
int64_t commits_within(const std::string& wal, size_t frames, size_t first_frame) {
  int64_t commits = 0;
  for (size_t frame = first_frame; frame < frames; ++frame) commits += is_commit(wal, frame);
  return commits;
}

struct Damaged {
  std::string database, wal;
  size_t frames = 0;       // in the whole WAL
  size_t first_frame = 0;  // after the frames of the transactions before the first step
};

Damaged make() {
  const DatabaseFolder folder;
  write_and_die(folder.database());
  Damaged made{bytes_of(folder.database()), bytes_of(folder.database().string() + "-wal"), 0, 0};
  made.frames = (made.wal.size() - kHeaderBytes) / kFrameBytes;
  int64_t commits = commits_within(made.wal, made.frames, 0);
  for (; commits > kSteps; ++made.first_frame) commits -= is_commit(made.wal, made.first_frame);
  return made;
}

// Opens a copy with that WAL; every step up to `steps` must be there, whole, and none after it.
void check_steps(const Damaged& made, const std::string& wal, int64_t steps) {
  const DatabaseFolder folder;
  write_bytes(folder.database(), made.database);
  write_bytes(folder.database().string() + "-wal", wal);
  const Store store(folder.database(), Store::Access::read_write);
  CHECK(value_of(store, "PRAGMA integrity_check") == "ok");
  CHECK(value_of(store, "SELECT count(*) FROM metrics") == std::to_string(steps * kSeries));
  CHECK(value_of(store, "SELECT coalesce(max(step), 0) FROM metrics") == std::to_string(steps));
  CHECK(value_of(store, "SELECT count(*) FROM series WHERE count <> " + std::to_string(steps)) ==
        "0");
}

}  // namespace

TEST_CASE("torn WAL: cut at every frame, and within it") {
  const Damaged made = make();
  REQUIRE(made.frames > static_cast<size_t>(kSteps));
  for (size_t frame = made.first_frame; frame <= made.frames; ++frame) {
    CAPTURE(frame);
    const int64_t steps = commits_within(made.wal, frame, made.first_frame);
    const size_t end = kHeaderBytes + frame * kFrameBytes;
    check_steps(made, made.wal.substr(0, end), steps);
    if (frame < made.frames)
      check_steps(made, made.wal.substr(0, end + 1 + frame * 97 % 4000), steps);
  }
}

TEST_CASE("torn WAL: garbled in every frame, in its header and in its page") {
  const Damaged made = make();
  for (size_t frame = made.first_frame; frame < made.frames; ++frame) {
    CAPTURE(frame);
    const int64_t steps = commits_within(made.wal, frame, made.first_frame);
    for (const size_t offset : {size_t{9}, 24 + frame * 131 % 4096}) {
      std::string wal = made.wal;
      wal[kHeaderBytes + frame * kFrameBytes + offset] ^= 0x40;
      check_steps(made, wal, steps);
    }
  }
}
