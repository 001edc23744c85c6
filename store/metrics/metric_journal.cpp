#include "store/metrics/metric_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "store/checked_line.h"
#include "store/database/connection.h"

namespace exprun {
namespace {

using nlohmann::json;

// JSON has no word for what is not finite.
json to_json(double value) {
  if (std::isfinite(value)) return value;
  return shortest(value);
}

double from_json(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto& word = value.get_ref<const std::string&>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  return std::numeric_limits<double>::quiet_NaN();
}

JournalLine from_object(const json& object) {
  JournalLine line{object.at("run"), object.at("attempt"), {}, {}};
  for (const json& name : object.at("series")) line.names.push_back({name.at(0), name.at(1)});
  for (const json& point : object.at("points")) {
    line.points.push_back({point.at(1), point.at(2), from_json(point.at(3)), point.at(0)});
    if (line.points.back().series >= line.names.size()) throw std::out_of_range("series");
  }
  return line;
}

std::optional<JournalLine> parse_line(std::string_view text) {
  const auto object = json_of_line(text);
  if (!object) return std::nullopt;
  try {
    return from_object(parse_json<json>(*object));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string journal_line(const std::string& run_uid, int64_t attempt,
                         std::span<const SeriesName> names, std::span<const MetricPoint> points) {
  json series = json::array();
  for (const SeriesName& name : names) series.push_back({name.name, name.timing});
  json rows = json::array();
  for (const MetricPoint& point : points) {
    rows.push_back({point.series, point.step, point.time_ms, to_json(point.value)});
  }
  return checked_line(json_text(
      json{{"run", run_uid}, {"attempt", attempt}, {"series", series}, {"points", rows}}));
}

JournalText parse_journal(const std::string& text) {
  JournalText journal;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (auto line = parse_line(std::string_view(text).substr(begin, end - begin))) {
      journal.lines.push_back(std::move(*line));
    } else {
      ++journal.damaged_lines;
    }
  }
  return journal;
}

namespace {

std::filesystem::path folder_of_journals(const std::filesystem::path& database) {
  return database.string() + ".journals";
}

// Another process may take in and remove the file between its creation and the lock.
bool still_named(int fd, const std::filesystem::path& file) {
  struct stat open_file = {};
  struct stat named_file = {};
  return ::fstat(fd, &open_file) == 0 && ::stat(file.c_str(), &named_file) == 0 &&
         open_file.st_ino == named_file.st_ino && open_file.st_dev == named_file.st_dev;
}

void write_at_end(int fd, const std::string& text, const std::filesystem::path& file) {
  const off_t before = ::lseek(fd, 0, SEEK_END);
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(fd, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      if (::ftruncate(fd, before) != 0) ::lseek(fd, 0, SEEK_END);  // a torn line is skipped
      throw file_error("write", file, error);
    }
    written += static_cast<size_t>(count);
  }
}

std::optional<int64_t> run_of(Connection& connection, const std::string& uid) {
  Query query(connection, "SELECT id FROM run WHERE uid = ?", uid);
  if (!query.step()) return std::nullopt;
  return query.integer(0);
}

void write_lines(Connection& connection, const std::vector<JournalLine>& lines,
                 const std::filesystem::path& file) {
  connection.write("take in a journal to", Connection::Durability::synced, [&] {
    for (const JournalLine& line : lines) {
      const auto run = run_of(connection, line.run_uid);
      if (!run) throw store_error("take in", file, "its run is not in this store; it is kept");
      write_batch(connection, *run, line.attempt, line.names, line.points);
    }
  });
}

void take_in_file(Connection& connection, const std::filesystem::path& file) {
  const JournalText text = parse_journal(read_file(file));
  write_lines(connection, text.lines, file);
  if (text.damaged_lines == 0) {
    std::filesystem::remove(file);
    return;
  }
  const std::filesystem::path kept = file.string() + ".damaged";
  std::filesystem::rename(file, kept);
  log_warning("store: " + std::to_string(text.damaged_lines) + " lines of '" + kept.string() +
              "' are damaged and were left out");
}

bool is_journal(const std::filesystem::directory_entry& entry) {
  return entry.is_regular_file() && entry.path().extension() == ".jsonl";
}

}  // namespace

MetricJournal::MetricJournal(const std::filesystem::path& database, std::string run_uid,
                             int64_t attempt)
    : file_(folder_of_journals(database) / (run_uid + "-" + std::to_string(attempt) + ".jsonl")),
      run_uid_(std::move(run_uid)),
      attempt_(attempt) {}

void MetricJournal::open() {
  std::filesystem::create_directories(file_.parent_path());
  for (;;) {
    FileLock lock = FileLock::take(file_);
    if (!still_named(lock.fd(), file_)) continue;
    lock_ = std::move(lock);
    return;
  }
}

void MetricJournal::append(std::span<const SeriesName> names, std::span<const MetricPoint> points) {
  if (!lock_ || !still_named(lock_->fd(), file_)) open();
  write_at_end(lock_->fd(), journal_line(run_uid_, attempt_, names, points), file_);
  ::fdatasync(lock_->fd());
}

void MetricJournal::take_in(Connection& connection) {
  if (!lock_) return;
  if (still_named(lock_->fd(), file_)) take_in_file(connection, file_);
  lock_.reset();
  std::error_code ignored;
  std::filesystem::remove(file_.parent_path(), ignored);  // when it was the last
}

void take_in_journals(Connection& connection) {
  const std::filesystem::path folder = folder_of_journals(connection.file());
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!is_journal(entry)) continue;
    try {
      const auto lock = FileLock::try_take(entry.path());
      if (lock && still_named(lock->fd(), entry.path())) take_in_file(connection, entry.path());
    } catch (const std::exception& failure) {
      log_warning(failure.what());
    }
  }
  std::filesystem::remove(folder, error);  // fails, rightly, unless it is empty
}

}  // namespace exprun
