#include "engine/record/throughput.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/machine/processor.h"
#include "engine/device/device.h"

namespace exprun {
namespace {

constexpr int kOperationsOfFusedMultiplyAdd = 2, kUnits = 2;

int lanes_of(const std::string& instruction_set) {
  if (instruction_set.starts_with("AVX512")) return 16;
  return instruction_set == "AVX2" ? 8 : 0;
}

}  // namespace

std::optional<Peak> peak_of(const ResolvedRecipe& recipe, const NumericEnvironment& environment,
                            const CoreShare& share) {
  const auto given = recipe.section("metrics").find<double>("peak_tflops");
  const auto format = recipe.section("precision").get<std::string>("compute");
  const bool cpu = environment.device == "cpu";
  if (given) return Peak{*given * 1e12 * (cpu ? share.machines : environment.world_size)};
  return cpu ? estimated_peak(environment, share.cores)
             : known_peak(environment.device, format, environment.world_size);
}

// The first name that the device's contains.
std::optional<Peak> known_peak(std::string_view device, std::string_view format, int ranks) {
  struct Known {
    std::string_view name;
    double half, tf32, fp32;
  };
  static constexpr Known kDevices[] = {{"H100 PCIe", 756e12, 378e12, 51.2e12},
                                       {"H100", 989e12, 494.7e12, 66.9e12},
                                       {"H200", 989e12, 494.7e12, 66.9e12},
                                       {"A100", 312e12, 156e12, 19.5e12}};
  for (const Known& known : kDevices) {
    if (device.find(known.name) == std::string_view::npos) continue;
    return Peak{ranks * (format == "fp32"   ? known.fp32
                         : format == "tf32" ? known.tf32
                                            : known.half)};
  }
  return std::nullopt;
}

std::optional<Peak> estimated_peak(const NumericEnvironment& environment, int cores, double hertz) {
  const int lanes = lanes_of(environment.instruction_set);
  if (lanes == 0 || hertz == 0) return std::nullopt;
  const int used = std::min(environment.threads, cores);  // more threads share what cores there are
  char how[128];
  std::snprintf(how, sizeof how,
                ", estimated: fp32, %d %s x %d %s x %.4g GHz x %d units x %d operations x %d lanes",
                environment.world_size, environment.world_size == 1 ? "rank" : "ranks", used,
                used == 1 ? "core" : "cores", hertz / 1e9, kUnits, kOperationsOfFusedMultiplyAdd,
                lanes);
  return Peak{
      1.0 * environment.world_size * used * hertz * kUnits * kOperationsOfFusedMultiplyAdd * lanes,
      how};
}

std::optional<Peak> estimated_peak(const NumericEnvironment& environment, int cores) {
  return estimated_peak(environment, cores, highest_clock());
}

std::string Mfu::text(double tokens_per_second) const {
  char text[96];
  std::snprintf(text, sizeof text, "MFU %.1f%% (convention P, peak %.4g TFLOP/s",
                100 * of(tokens_per_second), peak.flops / 1e12);
  return text + peak.how + ")";
}

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
  const int64_t tokens = plan_.batch.tokens();
  const int64_t done = epoch > 0 ? record.step * tokens % epoch : 0;
  const DeviceMemory memory = device_memory(device_);
  const std::array<MetricWriter::Point, 11> points{{
      {total_, times_.total() / count_},
      {data_, times_.data / count_},
      {forward_, times_.forward / count_},
      {backward_, times_.backward / count_},
      {update_, times_.update / count_},
      {running_loss_, loss_ / count_},
      {progress_, epoch > 0 ? static_cast<double>(done) / static_cast<double>(epoch) : 0},
      {remaining_, static_cast<double>((epoch - done) / tokens)},
      {total_gb_, memory.total / kGigabyte},
      {allocated_gb_, memory.allocated / kGigabyte},
      {peak_gb_, memory.peak / kGigabyte},
  }};
  metrics_.push(record.step, points);
  times_ = {};
  loss_ = count_ = 0;
}

}  // namespace exprun
