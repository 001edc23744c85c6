// The training loop: steps, evaluations and checkpoints, until the run's end or a request to stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/process/signals.h"
#include "engine/checkpoint/position.h"
#include "engine/pipeline.h"
#include "engine/record/recorder.h"
#include "engine/step.h"

namespace exprun {

// Saves checkpoints; null in a Trainer that saves none. All ranks call it together.
class Saver {
 public:
  virtual ~Saver() = default;

  // Copies the state and returns; written in the background. Failures are events.
  virtual void save(const Pipeline& pipeline, const Position& position) = 0;
  // The last one of this process: durable when it returns. Throws Error.
  virtual void save_last(const Pipeline& pipeline, const Position& position) = 0;
  // Loads the newest checkpoint with at most `step` steps, and forgets newer ones: its position, or
  // nothing if there is none. Throws Error.
  virtual std::optional<Position> roll_back(const Pipeline& pipeline, int64_t step) = 0;
};

struct TrainerLinks {
  Recorder& recorder;
  Saver* saver = nullptr;
  std::function<StopRequest()> stop_requested = exprun::stop_requested;
  // Called before results that depend on newly chosen kernels are recorded.
  std::function<void()> keep_kernel_choices = [] {};
  // By what words `exprun data head --run` knows the run; empty: it is not offered.
  std::string run_words = "";
};

struct TrainingResult {
  enum class End { finished, stopped, diverged };
  End end = End::finished;
  StopRequest stop = StopRequest::none;
  Position position;
  std::string message;  // why it diverged, or was finished before its last step
};

class Trainer {
 public:
  Trainer(const Pipeline& pipeline, TrainerLinks links);

  // From `start` (by default the beginning) to the run's end or a stop.
  TrainingResult run(Position start = {});

 private:
  bool stopping();
  StopRequest wish_to_stop() const;
  bool is_due(const NamedEvaluation& named) const;
  bool evaluate_due();
  bool evaluate(const NamedEvaluation& named);
  void track_best(const EvaluationResult& result);
  bool is_out_of_patience() const;
  StepResult::End update();
  std::string divergence(const StepResult& result) const;
  bool may_skip() const;
  void skip(const std::string& cause);
  bool rolls_back() const;
  bool roll_back(const std::string& cause);
  std::string limit_of_policy() const;
  std::string offer_of_data(const std::string& which, const std::string& what) const;
  void require_equal_replicas();
  void record(const StepResult& result, double seconds);
  bool is_saved() const;
  bool saving_is_due() const;
  void save();
  bool keeps_new_best() const;
  TrainingResult finish(TrainingResult::End end);

  const Pipeline& pipeline_;
  TrainerLinks links_;
  TrainingStep step_;
  Position position_;
  int64_t saved_step_ = 0;
  StopRequest stop_ = StopRequest::none;
  bool best_is_unsaved_ = false, kernels_kept_ = false, replicas_compared_ = false;
  std::string message_;
  std::chrono::steady_clock::time_point started_, saved_at_;
};

}  // namespace exprun
