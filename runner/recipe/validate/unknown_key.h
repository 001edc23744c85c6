// What to say about a name that no schema has: the nearest one, or the table where it belongs.
#pragma once

#include "base/diagnostic.h"
#include "recipe/schema.h"
#include "recipe/table_schema.h"

namespace exprun {

// A key or a table that `place` does not know.
Diagnostic unknown_key(const SchemaSet& schemas, const TablePlace& place, const Entry& entry);

// A `type` that the kind does not have.
Diagnostic unknown_type(const SchemaSet& schemas, const std::string& kind, const Value& type);

}  // namespace exprun
