// The writer's side of MetricWriter: brings batches into the store, or into the journal while the
// store cannot take them, and tries the store again from time to time. Nothing here throws.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include "store/metric_journal.h"

namespace exprun {

class MetricSession {
 public:
  // Throws Error when the store or the run is not there: that is before training.
  MetricSession(std::filesystem::path store_file, int64_t run);

  int64_t run_started_ms() const { return run_started_ms_; }

  std::vector<SeriesName>& names() { return names_; }
  std::vector<MetricPoint>& points() { return points_; }  // what is not yet safe

  // Makes points() safe, and gives a sign of life when one is due.
  void store(bool last_chance = false);

 private:
  using Clock = std::chrono::steady_clock;

  void open();
  void write();
  void write_to_journal();
  void begin_trouble(const std::string& reason);
  void end_trouble();
  void limit_memory();

  std::filesystem::path file_;
  int64_t run_;
  int64_t attempt_ = 0;
  int64_t run_started_ms_ = 0;
  std::string run_uid_;
  std::unique_ptr<Connection> connection_;
  std::optional<MetricJournal> journal_;
  std::vector<SeriesName> names_;
  std::vector<MetricPoint> points_;
  int64_t last_step_ = 0;
  Clock::time_point next_beat_;
  bool in_trouble_ = false;
  Clock::time_point next_try_;
  bool journal_in_trouble_ = false;
  int64_t dropped_ = 0;
};

}  // namespace exprun
