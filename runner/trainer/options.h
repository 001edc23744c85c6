// The command line of exprun-trainer: a hand-over between programs, so a table and no more.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "dist/rank_place.h"
#include "engine/attempt/shutdown_barrier.h"
#include "engine/record/store_recorder.h"

namespace exprun {

struct TrainerOptions {
  enum class Task {
    train,
    follow,
    shut_down_others,
    describe,
    evaluate,
    sample,
    export_weights,
    version,
    help
  } task = Task::train;
  StoredRun run;
  RankPlace place;
  ShutdownNotice shutdown_notice;          // --shut-down-others, --because
  std::optional<std::string> recipe_hash;  // of the recipe that this rank was started with
  std::optional<int> lock_fd, weights_fd;
  std::optional<std::filesystem::path> checkpoint;  // --resume-from
  std::string checkpoint_recipe;                    // --recipe-of-checkpoint
  LogLevel log_level = LogLevel::info;
};

extern const char* const kTrainerUsage;

// Throws Error with ExitCode::bad_recipe on wrong usage.
TrainerOptions parse_trainer_options(int count, char** arguments);

}  // namespace exprun
