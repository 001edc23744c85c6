// Whether a disk has room for the checkpoints of a run: a warning of `exprun check`, and what stops
// a run that would otherwise train for hours and fail to save.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/diagnostic.h"
#include "recipe/resolved.h"

namespace exprun {

struct CheckpointRoom {
  int64_t bytes = 0;             // of one checkpoint
  int64_t saved = 0;             // checkpoints of the run that are there already
  int64_t to_come = 0;           // that it will still save, at most
  std::filesystem::path folder;  // where they lie, or will
  std::string shown;             // the folder as the user names it
};

// At most one: the checkpoints that stay and the one being written do not fit. At
// checkpoint.keep_last.
Diagnostics checkpoint_room_problems(const ResolvedRecipe& recipe, const CheckpointRoom& room,
                                     Severity severity);

}  // namespace exprun
