// The samples that an update of a run trains on, found as the trainer finds them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/command/command.h"
#include "text/tokenizer.h"

namespace exprun {

// One of the two, from 1: they differ after a rollback.
struct BatchChoice {
  std::string run;  // as find_run() takes it
  std::optional<int64_t> step, batch;
};

struct TrainedSample {
  std::string place;            // "token 5,120 of train_000000.bin"
  std::vector<int64_t> tokens;  // inputs and the last target
};

struct TrainedBatch {
  std::string run;                             // its folder
  std::shared_ptr<const Tokenizer> tokenizer;  // of the data; null if nothing says which
  std::vector<TrainedSample> samples;
};

// Throws Error.
TrainedBatch trained_batch(const BatchChoice& choice, const Globals& globals);

}  // namespace exprun
