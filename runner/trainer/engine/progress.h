// How training goes, for people, on standard error: one line rewritten in place on a terminal,
// plain lines at [metrics] progress_every elsewhere.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "engine/recorder.h"
#include "engine/run_plan.h"

namespace exprun {

class Progress : public Recorder {
 public:
  explicit Progress(const RunPlan& plan);
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

  const RunPlan& plan_;
  std::chrono::steady_clock::time_point shown_at_;
  double training_seconds_ = 0;
  double tokens_ = 0;
  double step_seconds_ = 0;  // smoothed
  std::optional<double> last_val_loss_;
};

}  // namespace exprun
