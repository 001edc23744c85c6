// What is recorded, also as a TensorBoard event file in the run's folder ([metrics] tensorboard).
#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/files/event_file.h"
#include "engine/record/recorder.h"

namespace exprun {

// TensorBoard's event file of a live run. Training never stops for it: the first trouble (a full
// disk, say) is one warning, and what cannot be written is left out; the store has it all.
class LiveEventFile {
 public:
  // Makes the file in the folder; without it nothing will be written.
  explicit LiveEventFile(const std::filesystem::path& folder);

  // Any thread.
  void write(const std::function<void(EventFile&)>& what);

 private:
  void warn_once(const std::exception& error);

  std::atomic<bool> warned_{false};
  std::optional<EventFile> file_;
};

class TensorboardRecorder : public Recorder {
 public:
  // Scalars of steps every `metrics_every` steps; `parameters` are the run's hyper-parameters.
  TensorboardRecorder(LiveEventFile& file, int64_t metrics_every,
                      const std::vector<std::pair<std::string, HyperParameter>>& parameters,
                      const std::vector<std::string>& metrics);

  void step(const StepRecord& record) override;
  void evaluation(int64_t step, const std::string& name, const EvaluationResult& result) override;

 private:
  LiveEventFile& file_;
  int64_t metrics_every_;
};

}  // namespace exprun
