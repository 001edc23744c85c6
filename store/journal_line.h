// The text of a journal: a checked line (checked_line.h) a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/metric_batch.h"

namespace exprun {

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
