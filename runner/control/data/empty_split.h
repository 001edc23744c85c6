// A split that is wanted and gets no token is a mistake of the recipe: of which key.
#pragma once

#include <cstdint>

#include "control/data/text_options.h"
#include "recipe/section.h"

namespace exprun {

struct SplitCounts {
  int64_t train_tokens = 0, validation_tokens = 0;
  int64_t documents = 0, text_bytes = 0;  // of both
};

// Throws RecipeError.
void refuse_empty_split(const Section& dataset, const TextOptions& options,
                        const SplitCounts& counts);

}  // namespace exprun
