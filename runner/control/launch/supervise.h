// One life of a run: what stands ready before its trainer starts, and the supervision of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/file_lock.h"
#include "base/run_folder.h"
#include "control/launch/launch.h"
#include "control/launch/process/forwarded_signals.h"
#include "control/launch/trainer_program.h"
#include "store/store.h"

namespace exprun {

// The row says "running" and the lock is held: a launcher that dies from here on leaves a run
// that everyone sees as crashed.
struct Attempt {
  int64_t run = 0;
  int64_t number = 1;
  RunFolder folder;
  std::filesystem::path shown;  // the folder, as the user would write it
  FileLock lock;
  std::optional<std::filesystem::path> resume_from;  // a checkpoint's folder
  int world_size = 1;
  TrainerKind trainer = TrainerKind::cpu;
};

struct AttemptEnd {
  int exit_code = 0;              // for the shell
  bool deserves_restart = false;  // not where a signal to the launcher has ended it
};

// Runs a trainer a rank in the current working directory to their end, or rank 0's alone where
// another launcher starts the others, and records that end. Throws Error; the run has then failed.
AttemptEnd supervise(Store& store, const Attempt& attempt, const ForwardedSignals& signals,
                     const LaunchRequest& request);

}  // namespace exprun
