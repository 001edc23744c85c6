// The grammar of one axis: lists, choice(...) and range(...).
#pragma once

#include <string>
#include <vector>

#include "base/source_file.h"

namespace exprun {

// The values in `text`, which stands at `where` of its file. Throws RecipeError.
std::vector<std::string> parse_sweep_values(const std::string& text, const SourceSpan& where);

}  // namespace exprun
