// The files that [dataset] of type "text" names, training first.
#pragma once

#include <string>
#include <vector>

#include "control/data/read/document_chunks.h"
#include "recipe/value.h"

namespace exprun {

// Throws one RecipeError for all that is missing.
std::vector<RawSource> raw_sources(const Table& dataset, const std::string& libtorch);

}  // namespace exprun
