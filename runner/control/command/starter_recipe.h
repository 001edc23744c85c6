// The text of the recipe that `exprun new` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/command/command.h"
#include "recipe/schema/schema.h"
#include "text/prepared_data.h"

namespace exprun {

// A starter recipe for a model and a dataset, with every key that it could have: those that are
// needed with a value, the others as comments with their default.
struct StarterRequest {
  std::string model, data;  // types
  Words path;               // of the data: patterns; empty takes what is on every machine
  Words validation;         // the same of token shards
  std::string from;         // a folder of HuggingFace's whose weights it begins with; or empty
  std::optional<PreparedData> prepared;   // what `exprun data prepare --out` made, at the path
  std::optional<int64_t> bytes;           // of the data, if they are there
  std::optional<int64_t> context_length;  // that the data ask for; else the model's example
  std::optional<int64_t> vocab_size;      // of tokens without a tokenizer, where it is known
  std::string schema;            // path of recipe.schema.json from the recipe; empty leaves it out
  bool are_bare_tokens = false;  // token shards without a header
};

// Throws Error (wrong usage) for a type that there is not, and for data that need a path.
std::string starter_recipe(const SchemaSet& schemas, const StarterRequest& request);

}  // namespace exprun
