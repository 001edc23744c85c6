// Where the time goes, in the words of LambdaLabs' guide ([metrics] timers): averages since the
// last record of the parts of an update, and of the loss.
#pragma once

#include "engine/recorder.h"
#include "engine/run_plan.h"
#include "store/metric_writer.h"

namespace exprun {

class TimerRecorder : public Recorder {
 public:
  TimerRecorder(MetricWriter& metrics, const RunPlan& plan);

  void step(const StepRecord& record) override;
  void evaluation(int64_t, const std::string&, const EvaluationResult&) override {}
  void event(const std::string&, const std::string&, const std::string&) override {}

 private:
  MetricWriter& metrics_;
  const RunPlan& plan_;
  MetricWriter::Series total_, data_, forward_, backward_, update_, running_loss_, progress_;
  StepTimes times_;  // sums
  double loss_ = 0;
  double count_ = 0;
};

}  // namespace exprun
