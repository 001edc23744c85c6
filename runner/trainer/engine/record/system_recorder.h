// What the process and its machine use (base/machine/system_usage.h), and what LibTorch takes of
// its GPU, recorded by a thread of its own as series that are marked as timings. A value stands at
// the newest completed step; of several within one step the last stays.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <filesystem>
#include <optional>

#include "base/machine/system_usage.h"
#include "base/process/periodic_thread.h"
#include "engine/record/recorder.h"
#include "engine/record/tensorboard_recorder.h"
#include "store/metrics/metric_writer.h"

namespace exprun {

class SystemRecorder : public Recorder {
 public:
  struct Settings {
    std::filesystem::path run_folder;  // whose disk is watched
    std::chrono::duration<double> period;
    int64_t first_step = 0;           // completed when the attempt began
    LiveEventFile* events = nullptr;  // TensorBoard's, when wanted
    at::Device device = at::kCPU;
  };
  SystemRecorder(MetricWriter& metrics, Settings settings);

  void step(const StepRecord& record) override { step_ = record.step; }
  void rolled_back(const Position& position) override { step_ = position.step; }

 private:
  void record();

  MetricWriter& metrics_;
  const Settings settings_;
  std::atomic<int64_t> step_;
  std::optional<SystemUsage> usage_;  // of the thread
  PeriodicThread thread_;             // the last member: it uses all others
};

}  // namespace exprun
