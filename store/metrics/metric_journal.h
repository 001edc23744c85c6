// Where metrics go while the store cannot take them: "<database>.journals/<uid>-<attempt>.jsonl",
// one checked line (store/checked_line.h) for each batch. The next opener of the store takes it in,
// once, and removes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files/file_lock.h"
#include "store/metrics/metric_batch.h"

namespace exprun {

// The journal of one attempt that lives. While it is open, others leave it alone.
class MetricJournal {
 public:
  MetricJournal(const std::filesystem::path& database, std::string run_uid, int64_t attempt);

  const std::filesystem::path& file() const { return file_; }

  // Adds a batch; it survives the death of the process when this returns. Throws Error.
  void append(std::span<const SeriesName> names, std::span<const MetricPoint> points);

  // Brings what was added into the store and removes the file. Throws Error.
  void take_in(Connection& connection);

 private:
  void open();

  std::filesystem::path file_;
  std::string run_uid_;
  int64_t attempt_;
  std::optional<FileLock> lock_;
};

// Takes in every journal whose writer is gone. What cannot be taken in is kept, with a warning.
void take_in_journals(Connection& connection);

// The text of a journal: one checked line for each batch.
struct JournalLine {
  std::string run_uid;
  int64_t attempt = 0;
  std::vector<SeriesName> names;
  std::vector<MetricPoint> points;
};

struct JournalText {
  std::vector<JournalLine> lines;
  int damaged_lines = 0;  // a last line without its end was never acknowledged, and is not counted
};

std::string journal_line(const std::string& run_uid, int64_t attempt,
                         std::span<const SeriesName> names, std::span<const MetricPoint> points);

JournalText parse_journal(const std::string& text);

}  // namespace exprun
