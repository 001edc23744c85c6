// Which kernels a run computes with, where several can (engine/device/autotune.h): the same in
// every attempt and on every rank. They are kept in the run's kernels.json from the first moment,
// and in the state of each checkpoint; what the machine has measured for all runs is the cache of
// autotune.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/rendezvous.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/pipeline.h"

namespace exprun {

// Those of the checkpoint, if there is one; no others where the run is to be deterministic.
void choose_kernels(const ResolvedRecipe& recipe, const std::optional<CheckpointState>& checkpoint);

// The file <run folder>/kernels.json.
class KernelFile {
 public:
  // Takes over the choices in the file, if there is one. Throws Error.
  explicit KernelFile(std::filesystem::path file);

  // Makes choices durable that were made since; before anything computed with them is recorded.
  // The first time it throws Error; later a failure is a warning, for training goes on.
  void keep();

 private:
  void write(const nlohmann::json& choices);

  std::filesystem::path file_;
  nlohmann::json kept_;
};

// On all ranks before the first step: what each measured for itself they would choose differently,
// and one that measures must not share the machine with others that compute. Rank 0 computes one
// micro-batch while the others wait, where it measures what no earlier attempt has chosen (that had
// perhaps other ranks, and so other shapes), and tells them all choices. On GPUs there is nothing
// to measure. Throws Error.
void agree_on_kernels(Rendezvous& rendezvous, const Pipeline& pipeline);

}  // namespace exprun
