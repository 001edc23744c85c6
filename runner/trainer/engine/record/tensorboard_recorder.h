// What is recorded, also as a TensorBoard event file in the run's folder ([metrics] tensorboard).
#pragma once

#include "engine/record/live_event_file.h"
#include "engine/record/recorder.h"

namespace exprun {

class TensorboardRecorder : public Recorder {
 public:
  // Scalars of steps every `metrics_every` steps; `parameters` are the run's hyper-parameters.
  TensorboardRecorder(LiveEventFile& file, int64_t metrics_every,
                      const std::vector<std::pair<std::string, HyperParameter>>& parameters,
                      const std::vector<std::string>& metrics);

  void step(const StepRecord& record) override;
  void evaluation(int64_t step, const std::string& name, const EvaluationResult& result) override;

 private:
  LiveEventFile& file_;
  int64_t metrics_every_;
};

}  // namespace exprun
