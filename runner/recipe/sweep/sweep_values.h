// The grammar of one axis: lists, choice(...) and range(...).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/source_file.h"

namespace exprun {

struct SweepValue {
  std::string text;  // of an override: "1e-4", "\"cosine\"", "[0.9, 0.99]"
  SourceSpan where;
};

// Where some bytes of the text stand in its file.
using PlaceInFile = std::function<SourceSpan(size_t begin, size_t size)>;

// The values in a text. Throws RecipeError.
std::vector<SweepValue> parse_sweep_values(const std::string& text, const PlaceInFile& place);

}  // namespace exprun
