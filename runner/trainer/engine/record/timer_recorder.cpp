#include "engine/record/timer_recorder.h"

#include <array>

#include "engine/device/device.h"

namespace exprun {
namespace {

constexpr double kGigabyte = 1e9;

}  // namespace

// An average begins anew with an attempt, so it is not the same to the bit in a run that was
// interrupted: all but the progress are marked as timings.
TimerRecorder::TimerRecorder(MetricWriter& metrics, const RunPlan& plan, at::Device device)
    : metrics_(metrics),
      plan_(plan),
      device_(device),
      total_(metrics.series("time/total", true)),
      data_(metrics.series("time/data", true)),
      forward_(metrics.series("time/forward", true)),
      backward_(metrics.series("time/backward", true)),
      update_(metrics.series("time/update", true)),
      running_loss_(metrics.series("running_loss", true)),
      progress_(metrics.series("epoch_progress", false)),
      remaining_(metrics.series("num_batches_remaining", false)),
      total_gb_(metrics.series("total_gb", true)),
      allocated_gb_(metrics.series("curr_alloc_gb", true)),
      peak_gb_(metrics.series("peak_alloc_gb", true)) {}

void TimerRecorder::step(const StepRecord& record) {
  if (!record.times) return;
  times_.data += record.times->data;
  times_.forward += record.times->forward;
  times_.backward += record.times->backward;
  times_.update += record.times->update;
  loss_ += record.loss;
  ++count_;
  if (record.step % plan_.metrics_every != 0) return;
  const int64_t epoch = plan_.timeline.tokens_per_epoch;
  const int64_t done = epoch > 0 ? record.step * record.tokens % epoch : 0;
  const DeviceMemory memory = device_memory(device_);
  const std::array<MetricWriter::Point, 11> points{{
      {total_, times_.total() / count_},
      {data_, times_.data / count_},
      {forward_, times_.forward / count_},
      {backward_, times_.backward / count_},
      {update_, times_.update / count_},
      {running_loss_, loss_ / count_},
      {progress_, epoch > 0 ? static_cast<double>(done) / static_cast<double>(epoch) : 0},
      {remaining_, static_cast<double>((epoch - done) / record.tokens)},
      {total_gb_, memory.total / kGigabyte},
      {allocated_gb_, memory.allocated / kGigabyte},
      {peak_gb_, memory.peak / kGigabyte},
  }};
  metrics_.push(record.step, points);
  times_ = {};
  loss_ = count_ = 0;
}

}  // namespace exprun
