// Values as TOML text that reads back to the same values.
#pragma once

#include <string>

#include "recipe/value.h"

namespace exprun {

// On one line: 0.0003, 1.0, "text", [1, 2], {a = 1}. A float keeps its point or exponent.
std::string toml_text(const Value& value);

// A whole recipe: top-level tables under their headers, named sub-tables under theirs.
std::string toml_document(const Table& root);

}  // namespace exprun
