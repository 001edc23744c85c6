// A recipe over its parent: tables merge, all other values replace.
#pragma once

#include "base/diagnostic.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

// Puts `child` over `base`. Where the child picks another type of component, keys that only the
// base's type has are left behind, with a warning for each.
void merge(const SchemaSet& schemas, Table& base, Table child, Diagnostics& diagnostics);

// Removes from the table called `name` what belongs to its present type and not to `new_type`.
void leave_type(const SchemaSet& schemas, const Schema& node, Table& table, const std::string& name,
                const Value& new_type, Diagnostics& diagnostics);

}  // namespace exprun
