// A first recipe for a model and a dataset, with every key that it could have: those that are
// needed with a value, the others as comments with their default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recipe/schema.h"

namespace exprun {

struct StarterRequest {
  std::string model, data;       // types
  std::string path;              // of the data; empty takes what is on every machine
  std::optional<int64_t> bytes;  // of the data, if they are there
  std::string schema;            // path of recipe.schema.json from the recipe; empty leaves it out
};

// Throws Error (wrong usage) for a type that there is not, and for data that need a path.
std::string starter_recipe(const SchemaSet& schemas, const StarterRequest& request);

}  // namespace exprun
