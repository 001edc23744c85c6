// How much of the peak every recorded update reached.
#pragma once

#include "engine/record/mfu.h"
#include "engine/record/recorder.h"
#include "store/metric_writer.h"

namespace exprun {

// Adds the series "mfu".
class MfuRecorder : public Recorder {
 public:
  MfuRecorder(MetricWriter& metrics, int64_t metrics_every, Mfu mfu);

  void step(const StepRecord& record) override;

 private:
  MetricWriter& metrics_;
  int64_t metrics_every_;
  Mfu mfu_;
  MetricWriter::Series series_;
};

}  // namespace exprun
