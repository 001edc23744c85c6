// Fills a valid recipe: canonical spellings, defaults, derived values, the order of the schemas.
#pragma once

#include "recipe/derive.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

// Every table and every key with a default exists afterwards; "auto" is replaced where it can be.
void complete(const SchemaSet& schemas, Table& root, const Facts& facts, const std::string& file);

// In its canonical spelling: 1 for a float is 1.0, "1k steps" is "1000 steps".
Value normalized(const Schema& schema, Value value);

}  // namespace exprun
