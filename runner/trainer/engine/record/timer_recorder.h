// Where the time goes, in the words of LambdaLabs' guide ([metrics] timers): averages since the
// last record of the parts of an update, and of the loss; how much of the epoch is left, and the
// memory in GB (10^9 bytes): what tensors take of the GPU's. On a CPU that is the process's
// resident memory, of the machine's. The peak is that since the start.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/record/recorder.h"
#include "engine/run_plan.h"
#include "store/metric_writer.h"

namespace exprun {

class TimerRecorder : public Recorder {
 public:
  TimerRecorder(MetricWriter& metrics, const RunPlan& plan, at::Device device);

  void step(const StepRecord& record) override;

 private:
  MetricWriter& metrics_;
  const RunPlan& plan_;
  at::Device device_;
  MetricWriter::Series total_, data_, forward_, backward_, update_, running_loss_, progress_,
      remaining_, total_gb_, allocated_gb_, peak_gb_;
  StepTimes times_;  // sums
  double loss_ = 0;
  double count_ = 0;
};

}  // namespace exprun
