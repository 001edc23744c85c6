// What is said of keys, tables and types that no schema has: what is meant, or where it belongs.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "recipe/schema/key_synonyms.h"
#include "recipe/schema/schema.h"
#include "recipe/schema/table_schema.h"
#include "recipe/value.h"

namespace exprun {

// A key or a table that `place` does not have.
Diagnostic unknown_key(const SchemaSet& schemas, const TablePlace& place, const Entry& entry);

// ""adamw", "lion" or "sgd"", of a kind that has these.
std::string types_to_choose(const SchemaSet& schemas, const std::string& kind);

// A `type` that the kind does not have.
Diagnostic unknown_type(const SchemaSet& schemas, const std::string& kind, const Value& type);

// "did you mean 'hidden_size' in [model]?", of a word of another tool in [table].
std::string help_for_synonym(const KeySynonym& synonym, const std::string& table);

}  // namespace exprun
