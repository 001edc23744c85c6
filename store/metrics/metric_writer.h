// Metrics from the training thread to the store, at well under a microsecond a step: a ring of
// fixed size, emptied by a thread in one transaction every 250 ms. Store trouble never stops
// training: rows go to a journal beside the store and one warning is given.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace exprun {

class MetricWriter {
 public:
  // Opens its own connection to the store for `run`.
  MetricWriter(const std::filesystem::path& store_file, int64_t run);
  ~MetricWriter();  // writes what is left, warns of what is lost; does not throw

  // A series by name, made when first seen; cheap to keep. `timing`: see SeriesRow.
  using Series = uint32_t;
  Series series(const std::string& name, bool timing);

  struct Point {
    Series series;
    double value;
  };
  // All points of one step: stored together or not at all. Training thread only; no allocation,
  // no system call unless the ring is full.
  void push(int64_t step, std::span<const Point> points);

  // The same from any thread, for what comes now and then: it takes a lock and memory.
  void post(int64_t step, std::span<const Point> points);

  // Waits until everything pushed and posted is committed, or in the journal if the store cannot
  // take it, or kept in memory if neither can. Before a checkpoint is recorded and at the end.
  void flush();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace exprun
