// The checkpoints in a run's folder, and which of them is the newest that can be used. A checkpoint
// is
//   complete  if its manifest, which is written last, is there and every file has the size it says,
//   intact    if every byte is as the manifest says, by its hashes.
// What goes on from one wants it intact and its tensors finite.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files/run_folder.h"

namespace exprun {

// The files of a checkpoint, beside its manifest; what is in them: engine/checkpoint/checkpoint.h.
inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kAverageFile = "average.safetensors";
inline constexpr const char* kStateFile = "state.json";

// What a launcher needs of kStateFile; nothing of it where the file is damaged.
struct CheckpointFacts {
  std::string recipe_hash;           // of the recipe that made the checkpoint
  std::optional<int64_t> best_step;  // of the best value so far, if there is one
};

// Throws Error where the file cannot be read.
CheckpointFacts checkpoint_facts(const std::filesystem::path& checkpoint);

struct CheckpointFolder {
  std::filesystem::path path;
  int64_t step = 0;
};

// "step_00000300"
std::string checkpoint_name(int64_t step);

// What a path names by its form, whether it is there or not.
struct NamedCheckpoint {
  RunFolder run;  // as it was written where that has the run's name, else absolute
  int64_t step = 0;
};

// Of "runs/mine-1a2b3c4d/checkpoints/step_00000300", or of a file that is in it; nothing for any
// other path.
std::optional<NamedCheckpoint> checkpoint_at(const std::filesystem::path& path);

// How a model without an adapter begins with what one has learned. `checkpoint`: as `exprun export`
// takes it, "mine-1a2b3c4d --step 300".
std::string advice_to_merge_adapter(const std::string& checkpoint);

// Newest first. What is skipped, and why, is added to `skipped` when given:
// "step_00000300: model.safetensors is missing".
std::vector<CheckpointFolder> complete_checkpoints(const RunFolder& run,
                                                   std::vector<std::string>* skipped = nullptr);

// The newest intact one with at most `most_steps` steps.
std::optional<CheckpointFolder> newest_intact(const RunFolder& run, int64_t most_steps);

// The checkpoint that a further attempt of a run goes on from: the newest that is intact and whose
// tensors are finite. What is skipped, and why, is added to `skipped`. Throws Error for a file of
// tensors that its manifest knows, and that is no safetensors file.
std::optional<CheckpointFolder> newest_to_continue_from(const RunFolder& run,
                                                        std::vector<std::string>& skipped);

// A warning for each checkpoint that was skipped.
void warn_of_skipped(const std::vector<std::string>& skipped);

}  // namespace exprun
