// A store that cannot be written to while a run trains.
#include "store/metrics/metric_journal.h"

#include <doctest/doctest.h>
#include <sys/mount.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>

#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "store/metrics/metric_writer.h"
#include "support/file_size_limit.h"
#include "support/standard_error.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

void push(MetricWriter& writer, int64_t first, int64_t last, MetricWriter::Series series) {
  for (int64_t step = first; step <= last; ++step) {
    const MetricWriter::Point point{series, static_cast<double>(step)};
    writer.push(step, {&point, 1});
  }
}

std::string steps(const Store& store) {
  return value_of(store, "SELECT count(*) || ' to ' || max(step) FROM metrics");
}

std::filesystem::path journals(const DatabaseFolder& folder) {
  return folder.database().string() + ".journals";
}

std::filesystem::path journal(const DatabaseFolder& folder, const std::string& digits) {
  return journals(folder) / (new_run(digits).uid + "-1.jsonl");
}

void write_journal(const DatabaseFolder& folder, const std::string& digits,
                   const std::string& text) {
  std::filesystem::create_directories(journals(folder));
  std::ofstream(journal(folder, digits)) << text;
}

std::string line(const std::string& digits, int64_t first, int64_t last) {
  const std::vector<SeriesName> names = {{"loss", false}};
  std::vector<MetricPoint> points;
  for (int64_t step = first; step <= last; ++step) {
    points.push_back({step, step, static_cast<double>(step), 0});
  }
  return journal_line(new_run(digits).uid, 1, names, points);
}

}  // namespace

TEST_CASE("journal: a line is read back to the bit, NaN and infinities too") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<SeriesName> names = {{"train/loss", false}, {"step \"ms\"\n", true}};
  const std::vector<MetricPoint> points = {
      {1, 10, 0.1, 0}, {1, 10, kInfinity, 1}, {2, 20, -kInfinity, 0}, {2, 20, std::nan(""), 1}};
  const JournalText text = parse_journal(journal_line("uid", 3, names, points));
  REQUIRE(text.lines.size() == 1);
  CHECK(text.damaged_lines == 0);
  const JournalLine& line = text.lines[0];
  CHECK(line.run_uid == "uid");
  CHECK(line.attempt == 3);
  REQUIRE(line.names.size() == 2);
  CHECK(line.names[1].name == "step \"ms\"\n");
  CHECK(line.names[1].timing);
  REQUIRE(line.points.size() == 4);
  CHECK(line.points[0].value == 0.1);
  CHECK(line.points[0].time_ms == 10);
  CHECK(line.points[1].value == kInfinity);
  CHECK(line.points[1].series == 1);
  CHECK(line.points[2].value == -kInfinity);
  CHECK(std::isnan(line.points[3].value));
}

TEST_CASE("journal: a garbled line is left out and counted, a torn end is not") {
  const std::string first = line("1a", 1, 2);
  std::string second = line("1a", 3, 4);
  second[second.size() / 2] ^= 1;
  const std::string third = line("1a", 5, 6);
  const JournalText text = parse_journal(first + second + third + first.substr(0, 50));
  REQUIRE(text.lines.size() == 2);
  CHECK(text.lines[1].points[0].step == 5);
  CHECK(text.damaged_lines == 1);
}

TEST_CASE("journal: values that the store could not take come in when it can, by themselves") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t run = store.create_run(new_run("1a"));
  {
    MetricWriter writer(folder.database(), run);
    const auto loss = writer.series("loss", false);
    push(writer, 1, 10, loss);
    writer.flush();
    {
      const FileSizeLimit limit(20'000);  // less than the WAL has by now
      push(writer, 11, 20, loss);
      writer.flush();
      CHECK(steps(store) == "10 to 10");
      CHECK(std::filesystem::exists(journal(folder, "1a")));
      push(writer, 21, 30, loss);
      writer.flush();
    }
    push(writer, 31, 40, loss);
  }
  CHECK(steps(store) == "40 to 40");
  CHECK(store.series(run).at(0).count == 40);
  CHECK(store.series(run).at(0).last == 40);
  CHECK(!std::filesystem::exists(journals(folder)));
}

TEST_CASE("journal: the next opener takes in what a writer left behind") {
  const DatabaseFolder folder;
  {
    Store store(folder.database(), Store::Access::read_write);
    const int64_t run = store.create_run(new_run("1a"));
    const FileSizeLimit limit(20'000);
    MetricWriter writer(folder.database(), run);  // its end also finds the store in trouble
    push(writer, 1, 30, writer.series("loss", false));
    writer.flush();
    CHECK(std::filesystem::exists(journal(folder, "1a")));
  }
  CHECK(std::filesystem::exists(journal(folder, "1a")));
  const Store store(folder.database(), Store::Access::read_write);
  CHECK(steps(store) == "30 to 30");
  CHECK(!std::filesystem::exists(journals(folder)));
}

TEST_CASE("journal: taken in twice, it changes nothing; behind a later attempt, it is archived") {
  const DatabaseFolder folder;
  {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run("1a"));
  }
  for (int time = 0; time < 2; ++time) {
    write_journal(folder, "1a", line("1a", 1, 5) + line("1a", 4, 8));
    const Store store(folder.database(), Store::Access::read_write);
    CHECK(steps(store) == "8 to 8");
    CHECK(store.series(1).at(0).count == 8);
  }
  { Store(folder.database(), Store::Access::read_write).begin_attempt(1, 3); }
  write_journal(folder, "1a", line("1a", 1, 9));
  const Store store(folder.database(), Store::Access::read_write);
  CHECK(steps(store) == "3 to 3");
  CHECK(value_of(store, "SELECT group_concat(attempt || ':' || step) FROM metrics_archived") ==
        "1:4,1:5,1:6,1:7,1:8,1:9");
}

TEST_CASE("journal: one whose writer lives is left alone") {
  const DatabaseFolder folder;
  {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run("1a"));
  }
  write_journal(folder, "1a", line("1a", 1, 5));
  {
    const auto lock = FileLock::take(journal(folder, "1a"));
    const Store store(folder.database(), Store::Access::read_write);
    CHECK(steps(store) == "NULL");
  }
  CHECK(std::filesystem::exists(journal(folder, "1a")));
}

TEST_CASE("journal: one of a run that the store does not have is kept") {
  const DatabaseFolder folder;
  write_journal(folder, "1a", line("1a", 1, 5));
  const Store store(folder.database(), Store::Access::read_write);
  CHECK(std::filesystem::exists(journal(folder, "1a")));
}

TEST_CASE("journal: damaged lines are left out, and the file is kept aside") {
  const DatabaseFolder folder;
  {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run("1a"));
  }
  write_journal(folder, "1a", line("1a", 1, 2) + "garbled\n" + line("1a", 3, 4));
  const Store store(folder.database(), Store::Access::read_write);
  CHECK(steps(store) == "4 to 4");
  CHECK(!std::filesystem::exists(journal(folder, "1a")));
  CHECK(std::filesystem::exists(journal(folder, "1a").string() + ".damaged"));
}

TEST_CASE("journal: a database removed during training does not stop it, nor lose its values") {
  const DatabaseFolder folder;
  const auto moved = folder.path() / "moved";
  {
    Store store(folder.database(), Store::Access::read_write);
    const int64_t run = store.create_run(new_run("1a"));
    MetricWriter writer(folder.database(), run);
    const auto loss = writer.series("loss", false);
    push(writer, 1, 5, loss);
    writer.flush();
    std::filesystem::remove(folder.database());
    push(writer, 6, 10, loss);
    writer.flush();
  }
  const JournalText text = parse_journal(read_file(journal(folder, "1a")));
  REQUIRE(text.lines.size() == 1);
  CHECK(text.lines[0].points.front().step == 6);
  CHECK(text.lines[0].points.back().step == 10);
}

TEST_CASE("journal: a disk full to the last byte does not stop training") {
  const DatabaseFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) return;  // root only
  {
    Store store(folder.database(), Store::Access::read_write);
    const int64_t run = store.create_run(new_run("1a"));
    MetricWriter writer(folder.database(), run);
    const auto loss = writer.series("loss", false);
    push(writer, 1, 10, loss);
    writer.flush();
    { std::ofstream(folder.path() / "filler") << std::string(2 << 20, 'x'); }
    for (int64_t step = 11; step <= 3000; step += 10) {
      push(writer, step, step + 9, loss);
      if (step % 500 == 1) writer.flush();
    }
    CHECK(std::stoll(value_of(store, "SELECT count(*) FROM metrics")) < 3000);
    std::filesystem::remove(folder.path() / "filler");
  }
  {
    const Store store(folder.database(), Store::Access::read_write);
    CHECK(steps(store) == "3000 to 3000");
    CHECK(value_of(store, "PRAGMA integrity_check") == "ok");
  }
  CHECK(::umount(folder.path().c_str()) == 0);
}

TEST_CASE("journal: values that could be written nowhere are said to be lost") {
  const DatabaseFolder folder;
  Store(folder.database(), Store::Access::read_write).create_run(new_run("1a"));
  const std::string said = through_pipe([&] {
    auto writer = std::make_unique<MetricWriter>(folder.database(), 1);
    const auto loss = writer->series("loss", false);
    push(*writer, 1, 3, loss);
    writer->flush();
    const FileSizeLimit limit(1);
    push(*writer, 4, 10, loss);
    writer->flush();
    writer.reset();
  });
  INFO(said);
  CHECK(said.ends_with("exprun: warning: store: 7 values of metrics were lost: neither '" +
                       folder.database().string() + "' nor '" + journal(folder, "1a").string() +
                       "' could be written\n"));
}
