// Where validation begins if it is a fraction of the text: all of that must be counted before any
// of it becomes tokens.
#pragma once

#include <cstddef>
#include <vector>

#include "control/data/read/document_chunks.h"

namespace exprun {

// Sets options.split.validation_from for the last `fraction` of the training sources; its units
// become bytes where the place is the same and nothing is left to count then. Throws RecipeError,
// Error.
void find_border(const std::vector<RawSource>& sources, double fraction, size_t threads,
                 ChunkOptions& options);

}  // namespace exprun
