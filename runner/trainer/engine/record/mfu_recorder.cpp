#include "engine/record/mfu_recorder.h"

#include <array>
#include <utility>

namespace exprun {

MfuRecorder::MfuRecorder(MetricWriter& metrics, int64_t metrics_every, Mfu mfu)
    : metrics_(metrics),
      metrics_every_(metrics_every),
      mfu_(std::move(mfu)),
      series_(metrics.series("mfu", true)) {}

void MfuRecorder::step(const StepRecord& record) {
  if (record.step % metrics_every_ != 0) return;
  const std::array<MetricWriter::Point, 1> points{
      {{series_, mfu_.of(static_cast<double>(record.tokens) / record.seconds)}}};
  metrics_.push(record.step, points);
}

}  // namespace exprun
