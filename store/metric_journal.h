// Where metrics go while the store cannot take them: "<database>.journals/<uid>-<attempt>.jsonl", a
// line a batch, with a checksum. The next opener of the store takes it in, once, and removes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/file_lock.h"
#include "store/metric_batch.h"

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

}  // namespace exprun
