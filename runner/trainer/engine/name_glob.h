// Globs over the names of parameters, as recipes write them: "blocks.*.weight".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// Whether `name` matches the glob: `*` stands for any text, dots included, `?` for one character.
bool glob_matches(std::string_view glob, std::string_view name);

bool matches_any(const std::vector<std::string>& globs, std::string_view name);

}  // namespace exprun
