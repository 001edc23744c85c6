// Continuing a run from one of its checkpoints, to the same bits. No state of a random generator is
// kept or restored: every micro-batch seeds it anew (engine/step.cpp), and the order of data is a
// function of the seed and the index (text/sample_order.h).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/files/run_folder.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/trainer.h"

namespace exprun {

// Reads and checks a checkpoint before anything is built: its manifest with hashes, that it is of
// this recipe and of this data. Throws Error that says what differs.
CheckpointState open_checkpoint(const std::filesystem::path& folder, const std::string& recipe_hash,
                                const std::string& data_fingerprint);

// What may change bits between the machine of the checkpoint and this one, for people; empty if
// nothing does. `kernels_repeat`: whether the device's kernels make the same bits each time.
std::string bits_may_differ(const NumericEnvironment& then, const NumericEnvironment& now,
                            bool kernels_repeat = true);

// On all ranks together: loads the newest intact checkpoint with at most `step` steps that rank 0
// finds in the run's folder. Its position, or nothing if there is none. Throws Error.
std::optional<Position> load_newest(const RunFolder& folder, const Pipeline& pipeline,
                                    int64_t step);

// What a rank other than 0 does when the run is saved: it gives its part of the state, and rank 0
// writes.
class StateGiver : public Saver {
 public:
  explicit StateGiver(RunFolder folder = {}) : folder_(std::move(folder)) {}

  void save(const Pipeline& pipeline, const Position&) override {
    pipeline.optimizers().gathered_state();
  }
  void save_last(const Pipeline& pipeline, const Position& position) override {
    save(pipeline, position);
  }
  std::optional<Position> roll_back(const Pipeline& pipeline, int64_t step) override {
    return load_newest(folder_, pipeline, step);
  }

 private:
  RunFolder folder_;
};

}  // namespace exprun
