// The recipe against its schemas: every mistake of one table or key. Rules over several tables are
// in rules/rules.h.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

// The whole recipe. A value with a mistake, and one of an unknown key, is marked as invalid.
void validate(const SchemaSet& schemas, Table& root, Diagnostics& diagnostics);

// One top-level table of it only, and whether it is one.
void validate_table(const SchemaSet& schemas, Table& root, const std::string& name,
                    Diagnostics& diagnostics);

}  // namespace exprun
