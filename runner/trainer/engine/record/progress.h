// How training goes, for people, on standard error: one line rewritten in place on a terminal,
// plain lines at [metrics] progress_every elsewhere, at least one each minute.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal/progress_line.h"
#include "engine/device/numeric_environment.h"
#include "engine/pipeline.h"
#include "engine/record/evaluation_progress.h"
#include "engine/record/recorder.h"
#include "engine/record/store_recorder.h"
#include "engine/trainer.h"

namespace exprun {

// Whether the loss falls: a short against a long exponential average of it.
class LossTrend {
 public:
  void add(double loss);
  // An arrow; empty before there are losses to compare.
  std::string arrow(bool color) const;

 private:
  int64_t count_ = 0;
  double short_ = 0, long_ = 0;
};

class Progress : public Recorder {
 public:
  explicit Progress(const Pipeline& pipeline);
  ~Progress() override;

  void step(const StepRecord& record) override;
  void evaluation(int64_t step, const std::string& name, const EvaluationResult& result) override;
  void evaluating(int64_t step, const std::string& name, const WorkDone& done) override;
  void rolled_back(const Position& position) override;
  void event(const std::string& level, const std::string& kind, const std::string& text) override;

  // Of earlier attempts: the newest val/loss, and the newest and the best of the run's metric.
  void know_values(std::optional<double> val_loss, std::optional<double> newest,
                   std::optional<double> best) {
    last_val_loss_ = val_loss;
    newest_ = newest;
    best_ = best;
  }

  // Seconds and tokens in updates alone, over this attempt.
  double training_seconds() const { return training_seconds_; }
  double tokens_per_second() const;
  // The step that this attempt went on from.
  int64_t begun_at() const { return begun_at_.value_or(0); }
  std::optional<double> last_val_loss() const { return last_val_loss_; }
  std::optional<double> newest() const { return newest_; }

 private:
  std::string plain_line(const StepRecord& record) const;
  std::string terminal_line(const StepRecord& record) const;
  std::string line_at(int64_t step, std::vector<LinePart> parts) const;
  std::string lr_text(const StepRecord& record) const;
  double rate(const StepRecord& record) const;
  std::vector<LinePart> evaluated_parts() const;
  double elapsed() const;
  double seconds_left(int64_t step) const;
  double seconds_since_last();

  const Pipeline& pipeline_;
  std::map<std::string, double> evaluation_seconds_;          // of the last one
  std::chrono::steady_clock::time_point begun_, last_;        // step or evaluation
  std::chrono::steady_clock::time_point shown_at_, told_at_;  // on a terminal; in lines
  std::optional<EvaluationProgress> evaluation_;              // under way
  LossTrend trend_;
  std::optional<int64_t> begun_at_;
  double training_seconds_ = 0;
  double tokens_ = 0;
  double step_seconds_ = 0;  // smoothed
  std::optional<double> last_val_loss_;
  std::optional<double> newest_, best_;  // of the metric that says which step is the best
};

// What a run says about itself when it starts and when it ends.

// Lines for people.
std::vector<std::string> start_summary(const Pipeline& pipeline, const PreparedData& data,
                                       const NumericEnvironment& environment);
std::vector<std::string> end_summary(const Pipeline& pipeline, const Progress& progress,
                                     const TrainingResult& result, const StoredRun& run);

}  // namespace exprun
