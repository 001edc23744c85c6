// How training goes, for people, on standard error: one line rewritten in place on a terminal,
// plain lines at [metrics] progress_every elsewhere.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/machine.h"
#include "engine/pipeline.h"
#include "engine/record/recorder.h"
#include "engine/record/store_recorder.h"
#include "engine/trainer.h"

namespace exprun {

class Progress : public Recorder {
 public:
  explicit Progress(const Pipeline& pipeline);
  ~Progress() override;

  void step(const StepRecord& record) override;
  void evaluation(int64_t step, const std::string& name, const EvaluationResult& result) override;
  void event(const std::string& level, const std::string& kind, const std::string& text) override;

  // Seconds and tokens in updates alone, over this attempt.
  double training_seconds() const { return training_seconds_; }
  double tokens_per_second() const;
  std::optional<double> last_val_loss() const { return last_val_loss_; }

 private:
  std::string line(const StepRecord& record) const;
  double seconds_left(int64_t step) const;
  double seconds_since_last();

  const Pipeline& pipeline_;
  std::map<std::string, double> evaluation_seconds_;  // of the last one
  std::chrono::steady_clock::time_point last_;        // step or evaluation
  std::chrono::steady_clock::time_point shown_at_;
  double training_seconds_ = 0;
  double tokens_ = 0;
  double step_seconds_ = 0;  // smoothed
  std::optional<double> last_val_loss_;
};

// What a run says about itself when it starts and when it ends.

// Lines for people.
std::vector<std::string> start_summary(const Pipeline& pipeline, const PreparedData& data,
                                       const Machine& machine);
std::vector<std::string> end_summary(const Pipeline& pipeline, const Progress& progress,
                                     const TrainingResult& result, const StoredRun& run);

}  // namespace exprun
