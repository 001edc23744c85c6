// What an evaluation is to the engine: it measures, it does not train.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dist/process_group.h"
#include "engine/dataset.h"
#include "engine/model.h"
#include "engine/registry.h"
#include "recipe/section.h"
#include "text/tokenizer.h"

namespace exprun {

// How far an evaluation is: 1,024 of 65,536 "tokens".
struct WorkDone {
  int64_t done = 0, all = 0;
  const char* unit = "tokens";
};

// Gradients are off and the model is not in training while an evaluation runs.
struct EvaluationContext {
  Model& model;
  const Dataset& dataset;
  const Tokenizer* tokenizer = nullptr;  // null if the dataset has none
  int64_t step = 0;                      // completed updates
  int64_t seed = 0;
  int64_t micro_batch = 0;  // sequences in one forward pass
  int64_t sequence_length = 0;
  std::function<bool()> stop_requested;  // look after every batch or sampled token
  // Reads a batch to the model's device and checks it against the vocabulary (throws RecipeError).
  std::function<Batch(Split, int64_t first_sample, int64_t count)> read;
  // Every rank evaluates, and ends with the same result; they may divide the work. Looks at
  // stop_requested are collective: all ranks make the same number of them.
  std::shared_ptr<ProcessGroup> group = single_process();
  // Tells who waits how far it is: first with nothing done, then after every batch or token.
  std::function<void(const WorkDone&)> report = [](const WorkDone&) {};
};

struct EvaluationResult {
  std::vector<std::pair<std::string, double>> metrics;  // ("val/loss", 1.91)
  std::string text;                                     // for people: a sample
  std::string problem = {};                             // why there is no text
};

class Evaluation {
 public:
  using Factory = std::unique_ptr<Evaluation> (*)(const Section& section);

  virtual ~Evaluation() = default;

  // Before training: throws RecipeError for what would fail later, such as missing data.
  virtual void check(const Dataset&, const Tokenizer*) const {}

  // The series that its results have, before there are any: what a run can be compared by.
  virtual std::vector<std::string> metrics() const { return {}; }

  // Whether the untrained model is worth a look (it runs at step 0).
  virtual bool before_training() const { return true; }

  // Nothing if a stop was requested in between: the unfinished evaluation is dropped.
  virtual std::optional<EvaluationResult> evaluate(const EvaluationContext& context) = 0;
};

}  // namespace exprun
