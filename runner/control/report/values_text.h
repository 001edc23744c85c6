// What a key's schema allows, in words.
#pragma once

#include <string>

#include "recipe/schema.h"

namespace exprun {

// "integer >= 1", "\"adam\" or \"lion\"", "period in steps or epochs, > 0".
std::string values_text(const Schema& schema);

// A JSON value of a schema, as a recipe has it.
std::string toml_of(const Schema& json);

}  // namespace exprun
