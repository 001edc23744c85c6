// One attempt of a run: what stands ready before its trainer starts, and the supervision of it.
//
// How it is stopped: Ctrl-C, SIGTERM or a hang-up reaches the launcher, which passes it on to the
// trainers of all ranks (process/child_group.h). Each notes it (base/process/signals.h); they agree
// on a step, save and end (trainer/engine/trainer.cpp) with an exit code that says by which signal
// (143 for SIGTERM: exit_code_of in base/process/signals.h). The launcher records the state and
// ends with the same code (exit_status in process/trainer_end.h). A sweep stops a trial by SIGUSR1
// to its launcher: the same, but it ends as "pruned".
//
// Who restarts it when a trainer has died: train_with_restarts() in launch.cpp, as often as
// parallelism.max_restarts allows; torchrun and srun restart what they have started.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/files/file_lock.h"
#include "base/files/run_folder.h"
#include "control/launch/launch.h"
#include "control/launch/process/child_process.h"
#include "control/launch/trainer_program.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

// The row says "running" and the lock is held. Until a trainer has started, a launcher that dies
// leaves a run that everyone sees as crashed; after that the trainer saves the run and records its
// end itself (trainer/main.cpp).
struct Attempt {
  int64_t run = 0;
  int64_t number = 1;
  RunFolder folder;
  std::filesystem::path shown;  // the folder, as the user would write it
  FileLock lock;
  std::optional<std::filesystem::path> resume_from;  // a checkpoint's folder
  std::string checkpoint_recipe;                     // its hash, if the run was extended since
  int world_size = 1;
  TrainerKind trainer = TrainerKind::cpu;
};

struct AttemptEnd {
  int exit_code = 0;              // for the shell
  bool deserves_restart = false;  // not where a signal to the launcher has ended it
};

// Runs one trainer for each rank in the current working directory, until all have ended, or rank
// 0's alone where an external launcher starts the others, and records that end; after SIGUSR1 that
// is "pruned", with the reason of the run's last event of the kind kPruneEvent. Throws Error; the
// run has then failed.
inline constexpr const char* kPruneEvent = "prune";
AttemptEnd supervise(Store& store, const Attempt& attempt, const ForwardedSignals& signals,
                     const LaunchRequest& request);

}  // namespace exprun
