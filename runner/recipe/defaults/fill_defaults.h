// Fills a valid recipe: canonical spellings, defaults, what is "auto" (auto_values.h), the order of
// the schemas.
#pragma once

#include <string>

#include "base/dataset_info.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

// Every table and every key with a default exists afterwards; "auto" is replaced where it can be.
void fill_defaults(const SchemaSet& schemas, Table& root, const DatasetInfo& dataset_info,
                   const std::string& file);

// In its canonical spelling: 1 for a float is 1.0, "1k steps" is "1000 steps".
Value normalized(const Schema& schema, Value value);

}  // namespace exprun
