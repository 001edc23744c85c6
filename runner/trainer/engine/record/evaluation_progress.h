// How far an evaluation is, for people: part of a terminal's progress line, and elsewhere a plain
// line now and then, so that a log shows that something moves.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/terminal/progress_line.h"
#include "engine/evaluation.h"

namespace exprun {

class EvaluationProgress {
 public:
  // The line of a terminal from what there is to say: "val_loss: 12.0 k of 65.5 k tokens, ...".
  using Line = std::function<std::string(const WorkDone& done, const std::string& said)>;

  // `head` begins the plain lines: "step 20: ".
  explicit EvaluationProgress(std::string name, std::string head = "", Line line = own_line);
  EvaluationProgress(const EvaluationProgress&) = delete;
  EvaluationProgress& operator=(const EvaluationProgress&) = delete;
  ~EvaluationProgress();

  // Costs a look at the clock; call it often.
  void show(const WorkDone& done);

  // A bar for the evaluation alone.
  static std::string own_line(const WorkDone& done, const std::string& said);

 private:
  using Clock = std::chrono::steady_clock;

  std::string name_, head_;
  Line line_;
  Clock::time_point start_ = Clock::now();
  ProgressThrottle throttle_;
};

}  // namespace exprun
