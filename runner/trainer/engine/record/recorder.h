// Where the trainer's results go. The store in a run, memory in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/checkpoint/position.h"
#include "engine/evaluation.h"

namespace exprun {

// Milliseconds of one update, with the device awaited between them ([metrics] timers).
struct StepTimes {
  double data = 0;
  double forward = 0;
  double backward = 0;
  double update = 0;

  double total() const { return data + forward + backward + update; }
};

struct StepRecord {
  int64_t step = 0;  // completed updates
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  double seconds = 0;  // of this update alone
  int64_t tokens = 0;  // computed in it
  std::optional<StepTimes> times = std::nullopt;
  // So far, where the recipe allows it.
  std::optional<int64_t> skipped_updates = std::nullopt;
  std::optional<int64_t> passed_over_batches = std::nullopt;
};

class Recorder {
 public:
  virtual ~Recorder() = default;

  // Every update; what is kept follows [metrics] every.
  virtual void step(const StepRecord& record) = 0;
  virtual void evaluation(int64_t /*step*/, const std::string& /*name*/,
                          const EvaluationResult& /*result*/) {}
  // One that is under way, often.
  virtual void evaluating(int64_t /*step*/, const std::string& /*name*/, const WorkDone& /*done*/) {
  }
  // The run has gone back: what was recorded of later steps is no part of it any more.
  virtual void rolled_back(const Position& /*position*/) {}
  // level: info, warning, error. Never throws: trouble with the store does not stop training.
  virtual void event(const std::string& /*level*/, const std::string& /*kind*/,
                     const std::string& /*text*/) {}
};

}  // namespace exprun
