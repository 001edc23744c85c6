// What only LibTorch can tell of a recipe before it runs: its model is built on the meta device,
// where nothing is allocated.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/pipeline.h"

namespace exprun {

// Bytes on one rank, rank 0 where they differ.
struct MemoryPlan {
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;  // of one micro-batch; an estimate
  // Of all that a checkpoint holds, while rank 0 writes it. A GPU's copy is not in its memory.
  int64_t checkpoint_copy = 0;

  int64_t of_model() const { return weights + gradients + optimizer; }
  int64_t sum() const { return of_model() + activations + checkpoint_copy; }
};

MemoryPlan memory_plan(const TrainState& train_state, const BatchShape& batch,
                       at::DeviceType device);

// Of a checkpoint, which holds the state of all ranks.
int64_t checkpoint_bytes(const TrainState& train_state);

// From {"recipe": RecipeText, "facts": {...}, "device": "cpu" or "cuda"} to the plan that `check`
// shows; with "only": "schedule" to the learning rates alone, which need no model: {"type",
// "steps", "peaks": {group: lr}, "points": [[k, factor], ...]}, k from 0. With "only": "rates",
// "before": RecipeText and "steps": N to the first of the first N updates whose factor is not the
// same in both: {"k", "now", "before"}, k null where there is none, the lengths of both runs as
// "steps" and "steps_before", and the factor at which the earlier one ends as "end_before". With
// "only": "checkpoint" and "folder" to what keeps the checkpoint from being loaded: {"model":
// [line], "optimizer": [line]}. Throws RecipeError, Error.
nlohmann::json describe(const std::string& request);

}  // namespace exprun
