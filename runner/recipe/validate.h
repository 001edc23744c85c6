// The recipe against its schemas: every mistake of one table or key. Rules over several tables are
// in checks.h.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

// The whole recipe.
void validate(const SchemaSet& schemas, Table& root, Diagnostics& diagnostics);

// One top-level table of it only.
void validate_table(const SchemaSet& schemas, Table& root, const std::string& name,
                    Diagnostics& diagnostics);

}  // namespace exprun
