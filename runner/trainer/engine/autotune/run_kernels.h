// Which kernels a run computes with, where several can (engine/autotune/autotune.h): the same in
// every attempt and on every rank. The run's kernels.json has them from the first step on, and so
// has the state of each checkpoint; what the machine has measured for all runs is in the cache of
// autotune.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/rendezvous.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/pipeline.h"

namespace exprun {

// Takes over the choices of the checkpoint, if there is one; a deterministic run makes no others.
void choose_kernels(const ResolvedRecipe& recipe, const std::optional<CheckpointState>& checkpoint);

// The file <run folder>/kernels.json.
class KernelFile {
 public:
  // Takes over the choices in the file, if there is one. Throws Error.
  explicit KernelFile(std::filesystem::path file);

  // Writes the choices made since the last call; to be called before anything computed with them is
  // recorded. Throws Error the first time; later a failure is a warning, since training goes on.
  void keep();

 private:
  void write(const nlohmann::json& choices);

  std::filesystem::path file_;
  nlohmann::json kept_;
};

// To be called on all ranks before the first step: each measuring for itself, they would choose
// differently, and a rank that measures must not share the machine with others that compute. Rank 0
// computes one micro-batch while the others wait, measures for it what no earlier attempt has
// chosen (it may have had other ranks, and so other shapes), and sends them all choices. On GPUs
// there is nothing to measure. Throws Error.
void agree_on_kernels(Rendezvous& rendezvous, const Pipeline& pipeline);

}  // namespace exprun
