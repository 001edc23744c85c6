#include "engine/checkpoint/open_checkpoint.h"

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/checkpoints.h"

namespace exprun {
namespace {

void check_same(const std::filesystem::path& folder, const char* what, const std::string& then,
                const std::string& now, const char* remedy) {
  if (then == now) return;
  throw Error("checkpoint: '" + folder.string() + "' was made with " + what + " (" +
              then.substr(0, 8) + ", now " + now.substr(0, 8) + "); " + remedy);
}

std::string difference(const char* what, const std::string& then, const std::string& now) {
  return then == now ? "" : std::string("; ") + what + " was " + then + " and is now " + now;
}

}  // namespace

CheckpointState open_checkpoint(const std::filesystem::path& folder, const std::string& recipe_hash,
                                const std::string& data_fingerprint) {
  if (const auto problem = manifest_problem(folder, Verify::hashes))
    throw Error("checkpoint: '" + folder.string() + "' is damaged: " + *problem +
                "; remove the folder to continue from the previous checkpoint");
  CheckpointState state = read_checkpoint_state(folder);
  check_same(folder, "a different recipe", state.recipe_hash, recipe_hash,
             "start a new run for the changed recipe");
  check_same(folder, "different data", state.data_fingerprint, data_fingerprint,
             "restore the files that it was trained on, or start a new run");
  return state;
}

std::optional<Position> load_newest(const RunFolder& folder, const Pipeline& pipeline,
                                    int64_t step) {
  ProcessGroup& group = *pipeline.group;
  double newest_step = -1;
  if (group.rank() == 0)
    if (const auto newest = newest_intact(folder, step))
      newest_step = static_cast<double>(newest->step);
  const auto found = static_cast<int64_t>(from_rank_0(group, {newest_step})[0]);
  if (found < 0) return std::nullopt;
  const auto checkpoint = folder.checkpoints() / checkpoint_name(found);
  pipeline.optimizers().await_values();  // of the last update: they would come later
  load_tensors(checkpoint, pipeline);
  return read_checkpoint_state(checkpoint).position;
}

std::string bits_may_differ(const NumericEnvironment& then, const NumericEnvironment& now,
                            bool kernels_repeat) {
  const std::string differences =
      difference("LibTorch", then.libtorch, now.libtorch) +
      difference("the instruction set", then.instruction_set, now.instruction_set) +
      difference("BLAS", then.blas, now.blas) + difference("oneDNN", then.onednn, now.onednn) +
      difference("the world size", std::to_string(then.world_size),
                 std::to_string(now.world_size)) +
      difference("the strategy", then.strategy, now.strategy) +
      difference("the device", then.device, now.device) +
      (kernels_repeat ? "" : "; GPU kernels are reproducible only with run.deterministic = true");
  return differences.empty()
             ? ""
             : "results may not be bit-identical to those of an uninterrupted run" + differences;
}

}  // namespace exprun
