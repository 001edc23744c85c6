// The points of a sweep in a file: an axis whose values change several keys together.
#pragma once

#include <filesystem>

#include "recipe/sweep/sweep_space.h"

namespace exprun {

// A CSV file has a line with the keys and one for each point; a value is what an override takes,
// and an empty one leaves the key as it is. A TOML file has a table [[points]] for each point.
// `where` asks for the file. Throws RecipeError.
SweepAxis read_points(const std::filesystem::path& file, const SourceSpan& where);

}  // namespace exprun
