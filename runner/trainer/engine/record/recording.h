// All that rank 0 records of an attempt, and where: the store, the screen, TensorBoard.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/event_file.h"
#include "engine/attempt/rank_attempt.h"
#include "engine/record/progress.h"
#include "engine/record/recorder.h"
#include "engine/record/store_recorder.h"
#include "engine/record/system_recorder.h"
#include "engine/record/tensorboard_recorder.h"
#include "engine/record/throughput.h"
#include "engine/trainer.h"
#include "store/metrics/metric_writer.h"

namespace exprun {

class Recording : public Recorder {
 public:
  Recording(const StoredRun& run, const RankAttempt& attempt);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // From here on what the machine uses too. `start` is where a resume begins.
  void begin(const std::optional<Position>& start);
  // Makes everything durable, and sums it up on the screen.
  void end(const TrainingResult& result);

  MetricWriter& metrics() { return metrics_; }

  void step(const StepRecord& record) override;
  void evaluation(int64_t step, const std::string& name, const EvaluationResult& result) override;
  void evaluating(int64_t step, const std::string& name, const WorkDone& done) override;
  void rolled_back(const Position& position) override;
  void event(const std::string& level, const std::string& kind, const std::string& text) override;

 private:
  const StoredRun& run_;
  const RankAttempt& attempt_;
  MetricWriter metrics_;
  StoreRecorder store_;
  Progress progress_;
  TimerRecorder timers_;
  std::optional<Mfu> mfu_;
  std::optional<MfuRecorder> utilization_;
  std::optional<LiveEventFile> events_;
  std::optional<TensorboardRecorder> tensorboard_;
  std::optional<SystemRecorder> system_;
  std::vector<Recorder*> all_;  // the store first: nothing is shown that is not recorded
};

}  // namespace exprun
