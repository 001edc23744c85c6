#include "engine/timer_recorder.h"

#include <array>
#include <cmath>

namespace exprun {

// An average begins anew with an attempt, so it is not the same to the bit in a run that was
// interrupted: all but the progress are marked as timings.
TimerRecorder::TimerRecorder(MetricWriter& metrics, const RunPlan& plan)
    : metrics_(metrics),
      plan_(plan),
      total_(metrics.series("time/total", true)),
      data_(metrics.series("time/data", true)),
      forward_(metrics.series("time/forward", true)),
      backward_(metrics.series("time/backward", true)),
      update_(metrics.series("time/update", true)),
      running_loss_(metrics.series("running_loss", true)),
      progress_(metrics.series("epoch_progress", false)) {}

void TimerRecorder::step(const StepRecord& record) {
  if (!record.times) return;
  times_.data += record.times->data;
  times_.forward += record.times->forward;
  times_.backward += record.times->backward;
  times_.update += record.times->update;
  loss_ += record.loss;
  ++count_;
  if (record.step % plan_.metrics_every != 0) return;
  const auto tokens = static_cast<double>(record.step * record.tokens);
  const auto epoch = static_cast<double>(plan_.timeline.tokens_per_epoch);
  const std::array<MetricWriter::Point, 7> points{{
      {total_, times_.total() / count_},
      {data_, times_.data / count_},
      {forward_, times_.forward / count_},
      {backward_, times_.backward / count_},
      {update_, times_.update / count_},
      {running_loss_, loss_ / count_},
      {progress_, epoch > 0 ? std::fmod(tokens, epoch) / epoch : 0},
  }};
  metrics_.push(record.step, points);
  times_ = {};
  loss_ = count_ = 0;
}

}  // namespace exprun
