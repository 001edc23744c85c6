// Whether a disk has room for the checkpoints of a run: a warning of `exprun check`, and what stops
// a run that would otherwise train for hours and fail to save.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "recipe/resolved.h"

namespace exprun {

struct CheckpointSpace {
  int64_t bytes = 0;            // of one checkpoint
  int64_t saved = 0;            // checkpoints of the run that are there already
  int64_t to_come = 0;          // that it will still save, at most
  std::string folder;           // where they lie, or will, as the user names it
  std::optional<int64_t> left;  // bytes that its disk has; nothing where the system does not say
};

// At most one: the checkpoints that stay and the one being written do not fit. At
// checkpoint.keep_last.
Diagnostics checkpoint_space_problems(const ResolvedRecipe& recipe, const CheckpointSpace& space,
                                      Severity severity);

}  // namespace exprun
