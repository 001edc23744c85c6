// Results into the store and the run's folder.
#pragma once

#include <filesystem>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/run_folder.h"
#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/record/recorder.h"
#include "store/metrics/metric_writer.h"
#include "store/store.h"

namespace exprun {

// Which run of which store a trainer works for.
struct StoredRun {
  std::filesystem::path store;
  int64_t id = 0;
  int64_t attempt = 0;
  RunFolder folder;
  RunFolder shown;  // as the user would write it, who may stand elsewhere than the run works
};

// On what libraries the attempt runs (libraries_json). Trouble with the store is passed over.
void record_libraries(const StoredRun& run, const std::string& json);

// How a command names the run: "tiny-1a2b3c4d --store other".
std::string words_for(const StoredRun& run);

// Why a run failed, for its launcher: an event, or where the store cannot take one a record in the
// run's lock file. Throws Error.
void record_failure(const StoredRun& run, const std::string& message);

// How a run ended whose launcher, which records that, is gone. `message`: why, if it failed. Throws
// Error.
void record_end(const StoredRun& run, ExitCode code, const std::string& message);

class StoreRecorder : public Recorder {
 public:
  // Series of steps get a value every `metrics_every` steps; that of the batches that were passed
  // over also where it changes.
  StoreRecorder(const StoredRun& run, MetricWriter& metrics, int64_t metrics_every);

  void step(const StepRecord& record) override;
  void evaluation(int64_t step, const std::string& name, const EvaluationResult& result) override;
  void rolled_back(const Position& position) override;
  void event(const std::string& level, const std::string& kind, const std::string& text) override;

  // What earlier attempts have recorded last.
  std::optional<double> last_value(const std::string& series) const;

 private:
  void count_passed_over(const StepRecord& record);
  void write_sample(int64_t step, const std::string& name, const std::string& text);

  const StoredRun& run_;
  MetricWriter& metrics_;
  int64_t metrics_every_;
  Store store_;
  MetricWriter::Series loss_, lr_, grad_norm_, tokens_per_s_, step_ms_;
  std::optional<MetricWriter::Series> skipped_updates_, passed_over_batches_;
  std::optional<int64_t> passed_over_;  // the last value that was recorded
};

class StoreLedger : public CheckpointLedger {
 public:
  StoreLedger(const StoredRun& run, MetricWriter& metrics);

  void before_commit() override { metrics_.flush(); }
  void record(int64_t step, int64_t bytes) override;
  void forget(int64_t step) override;

 private:
  const StoredRun& run_;
  MetricWriter& metrics_;
  Store store_;
};

}  // namespace exprun
