// Whether a machine has room for a run: disk for its checkpoints, memory for its ranks. `exprun
// check` warns of both; a run that starts is stopped by them, which would let it train for hours
// and fail to save, or end it without a word.
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
Diagnostics checkpoint_space_problems(const ResolvedRecipe& recipe, const CheckpointSpace& space);

// What a rank is planned to take, in bytes.
struct PlannedMemory {
  double of_model = 0;  // weights, gradients, optimizer
  double activations = 0;
  // That rank 0 makes between steps, where it is in the same memory. While it is written, the next
  // steps are trained.
  double checkpoint_copy = 0;
};

// Memory, and the ranks that share it.
struct AvailableMemory {
  std::string where;  // "this machine"
  double bytes = 0;   // 0 if it is not known: then everything fits
  int64_t ranks = 1;
};

// At most one. What to change is the number of ranks where one of them fits. A warning where the
// activations and the copy fit each, but not both: a copy may be written before they are there.
Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const AvailableMemory& available);

}  // namespace exprun
