// Model FLOPs utilisation: which part of a device's peak the model's own arithmetic takes, by the
// convention P (Chowdhery et al. 2022, appendix B): 6N + 12 L C T a token, N without position
// embeddings, whatever is really computed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core_share.h"
#include "engine/machine.h"
#include "engine/recorder.h"
#include "engine/run_plan.h"
#include "recipe/resolved.h"
#include "store/metric_writer.h"

namespace exprun {

struct Peak {
  double flops = 0;   // a second
  std::string how{};  // ", estimated: ..." where nobody stated it
};

struct Mfu {
  double flops_per_token = 0;
  Peak peak;  // of all devices of the run

  double of(double tokens_per_second) const {
    return flops_per_token * tokens_per_second / peak.flops;
  }
  // "MFU 37.4 % (convention P, peak 989 TFLOP/s)"
  std::string text(double tokens_per_second) const;
};

// Of all devices of the run: what the recipe says of one (the CPUs of a machine are one, however
// many ranks share them), else what is known or estimated; nothing where none of these is.
std::optional<Peak> peak_of(const ResolvedRecipe& recipe, const Machine& machine,
                            const CoreShare& share);

// Of a GPU a rank, known by its name, in a format of [precision] compute: dense, as its vendor
// states it; nothing for an unknown one: a guess would be worse.
std::optional<Peak> known_peak(std::string_view device, std::string_view format, int ranks);

// Of all ranks' CPUs, in fp32: two fused multiply-adds a cycle and core, as wide as its vectors, at
// the highest clock that the system names. Matrix units (AMX) and the clock under load are left
// out. Nothing where the vectors or the clock are not known. `cores` are those that a rank may use,
// `hertz` is their clock, 0 where it is not known.
std::optional<Peak> estimated_peak(const Machine& machine, int cores);
std::optional<Peak> estimated_peak(const Machine& machine, int cores, double hertz);

// Adds the series "mfu".
class MfuRecorder : public Recorder {
 public:
  MfuRecorder(MetricWriter& metrics, int64_t metrics_every, Mfu mfu);

  void step(const StepRecord& record) override;
  void evaluation(int64_t, const std::string&, const EvaluationResult&) override {}
  void event(const std::string&, const std::string&, const std::string&) override {}

 private:
  MetricWriter& metrics_;
  int64_t metrics_every_;
  Mfu mfu_;
  MetricWriter::Series series_;
};

}  // namespace exprun
