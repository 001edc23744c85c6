// A checkpoint: a folder with model.safetensors (by parameter), optimizer.safetensors
// ("<parameter>/<state>"), average.safetensors (where the recipe asks for averages: by parameter,
// with the number of averaged updates in its metadata), state.json, and MANIFEST.json last. Without
// optimizer.safetensors the optimizer's state begins there, as a fork may ask; averages without
// theirs. There is no state of a random generator: open_checkpoint.h says why none is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/position.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/device/numeric_environment.h"
#include "engine/pipeline.h"

namespace exprun {

// state.json: everything beside the tensors.
struct CheckpointState {
  Position position;
  int64_t tokens = 0;  // trained on so far
  std::string recipe_hash;
  std::string data_fingerprint;
  NumericEnvironment environment;
  nlohmann::json kernels;  // autotune::save
};

// A copy of the state between two steps, to be written while training goes on.
struct Snapshot {
  CheckpointState state;
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> optimizer;
  std::vector<NamedTensor> average;
  std::optional<int64_t> vocab_size;  // of the model
  int64_t averaged_updates = 0;
};

// As rank 0, while all others call Optimizers::gathered_state.
Snapshot take_snapshot(const Pipeline& pipeline, const Position& position);

// Durable and whole when it returns; throws Error and leaves nothing otherwise. Any thread.
void write_checkpoint(const Snapshot& snapshot, const std::filesystem::path& folder);

// Throws Error: a file is missing or damaged, or a newer exprun wrote it.
CheckpointState read_checkpoint_state(const std::filesystem::path& folder);

// Copies the tensors into the pipeline. Throws Error that names a tensor that is missing, too
// many, or of another shape or dtype; the pipeline is then of no use.
void load_tensors(const std::filesystem::path& folder, const Pipeline& pipeline);

// The weights alone.
void load_weights(const std::filesystem::path& folder, const TrainState& train_state);

// The averages of a checkpoint that has some, over the weights, which nothing trains on.
void load_averages(const std::filesystem::path& folder, const TrainState& train_state);

// Why a checkpoint cannot be loaded into what a recipe builds, one line for each tensor; empty
// where it can.
struct TensorDifferences {
  std::vector<std::string> model, optimizer;  // `optimizer`: the averages' too
  bool has_other_shapes = false;              // of the model's tensors that are in both
};

// `train_state` is one on the meta device, of a single process.
TensorDifferences differences_from(const std::filesystem::path& folder,
                                   const TrainState& train_state);

}  // namespace exprun
