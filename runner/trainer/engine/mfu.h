// Model FLOPs utilisation: which part of a device's peak the model's own arithmetic takes, by the
// convention P (Chowdhery et al. 2022, appendix B): 6N + 12 L C T a token, N without position
// embeddings, whatever is really computed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/recorder.h"
#include "engine/run_plan.h"
#include "store/metric_writer.h"

namespace exprun {

struct Mfu {
  double flops_per_token = 0;
  double peak_flops = 0;  // a second, of all devices of the run

  double of(double tokens_per_second) const {
    return flops_per_token * tokens_per_second / peak_flops;
  }
  // "MFU 37.4 % (convention P, peak 989 TFLOP/s)"
  std::string text(double tokens_per_second) const;
};

// Dense bf16 of a device by its name, as its vendor states it; nothing for a CPU or an unknown one:
// a guess would be worse.
std::optional<double> known_peak_flops(std::string_view device);

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
