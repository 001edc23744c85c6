// The keywords whose value is a schema again: items, properties, required, additionalProperties,
// anyOf, oneOf.
#pragma once

#include "base/diagnostic.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

void check_items(const std::string& key, const Schema& schema, const Array& array,
                 Diagnostics& diagnostics);

void check_members(const std::string& key, const Schema& schema, const Value& table,
                   Diagnostics& diagnostics);

// Where no branch fits, the mistakes of the one that the value comes nearest to.
void check_branches(const std::string& key, const Schema& schema, const Value& value,
                    Diagnostics& diagnostics);

}  // namespace exprun
