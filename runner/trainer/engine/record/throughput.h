// Model FLOPs utilization: which part of a device's peak the model's own arithmetic takes, by the
// convention P (Chowdhery et al. 2022, appendix B): 6N + 12 L C T a token, N without position
// embeddings, whatever is really computed.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>

#include "engine/attempt/rank_attempt.h"
#include "engine/device/numeric_environment.h"
#include "engine/pipeline.h"
#include "engine/record/recorder.h"
#include "recipe/resolved.h"
#include "store/metrics/metric_writer.h"

namespace exprun {

// The most floating-point operations a second that devices can do.
struct Peak {
  double flops = 0;   // a second
  std::string how{};  // ", estimated: ..." where nobody stated it
};

// Of all devices of the run: what the recipe says of one (the CPUs of a machine are one, however
// many ranks share them), else what is known or estimated; nothing where none of these is.
std::optional<Peak> peak_of(const ResolvedRecipe& recipe, const NumericEnvironment& environment,
                            const CoreShare& share);

// Of one GPU for each rank, known by its name, in a format of [precision] compute: dense, as its
// vendor states it; nothing for an unknown one: a guess would be worse.
std::optional<Peak> known_peak(std::string_view device, std::string_view format, int ranks);

// Of all ranks' CPUs, in fp32: two fused multiply-adds a cycle and core, as wide as its vectors, at
// the highest clock that the system names. Matrix units (AMX) and the clock under load are left
// out. Nothing where the vectors or the clock are not known. `cores` are those that a rank may use,
// `hertz` is their clock, 0 where it is not known.
std::optional<Peak> estimated_peak(const NumericEnvironment& environment, int cores);
std::optional<Peak> estimated_peak(const NumericEnvironment& environment, int cores, double hertz);

struct Mfu {
  double flops_per_token = 0;
  Peak peak;  // of all devices of the run

  double of(double tokens_per_second) const {
    return flops_per_token * tokens_per_second / peak.flops;
  }
  // "MFU 37.4% (convention P, peak 989 TFLOP/s)"
  std::string text(double tokens_per_second) const;
};

// How much of the peak every recorded update reached.

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

// Where the time goes, in the words of LambdaLabs' guide ([metrics] timers): averages since the
// last record of the parts of an update, and of the loss; how much of the epoch is left, and the
// memory in GB (10^9 bytes): what tensors take of the GPU's. On a CPU that is the process's
// resident memory, of the machine's. The peak is that since the start.
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
