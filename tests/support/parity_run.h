// A recorded training run of another system, replayed by exprun: its initial weights, batches and
// settings; our model, optimizers, schedule and step.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/pipeline.h"
#include "engine/step.h"
#include "engine/weights/import.h"
#include "recipe/resolved.h"
#include "support/foreign_names.h"

namespace exprun {

struct ParitySettings {
  std::string recipe;          // TOML without [dataset]
  std::string system;          // whose names theirs() knows; may be empty with an init_from
  std::filesystem::path init;  // unless the recipe has an init_from
  at::Tensor inputs;           // (samples, T), in the order of the updates
  at::Tensor targets;          // (samples, T)
};

class ParityRun {
 public:
  explicit ParityRun(const ParitySettings& settings);

  StepResult step(int64_t k) { return step_.run(k); }
  Model& model() { return pipeline_.model(); }
  const ResolvedRecipe& recipe() const { return recipe_; }
  const TrainState& state() const { return pipeline_.train_state; }
  const std::optional<Imported>& imported() const { return imported_; }
  const std::vector<Parameter>& parameters() const {
    return pipeline_.train_state.parameters->items();
  }
  // The rates of every group at an update, by its name.
  double lr(const std::string& group, int64_t k) const;

  // Mean over the valid targets; the gradients are left behind.
  double loss_and_gradients(const at::Tensor& inputs, const at::Tensor& targets);

  // Their tensor, laid out as ours.
  at::Tensor theirs(const Safetensors& file, const Parameter& ours) const;

 private:
  ResolvedRecipe recipe_;
  Pipeline pipeline_;
  std::optional<Imported> imported_;
  ForeignNames names_;
  TrainingStep step_;
};

// The samples that begin at the offsets of a recorded order, whatever its shape.
struct Samples {
  at::Tensor inputs, targets;  // (samples, length)
};
Samples samples_at(const at::Tensor& tokens, const at::Tensor& offsets, int64_t length);

// Raw uint16 as (n) int64.
at::Tensor tokens_of(const std::string& raw);

double largest(const at::Tensor& difference);
double relative(const at::Tensor& ours, const at::Tensor& theirs);

// "key = value" with a JSON value, as TOML spells it.
std::string toml(const std::string& key, const nlohmann::json& value);

}  // namespace exprun
