// Tables and components of the recipe language, explained from their schemas.
#pragma once

#include <string>

#include "recipe/schema.h"

namespace exprun {

// Every table with what it is for and its types; then the keys outside of the tables.
std::string tables_text(const SchemaSet& schemas);

// The keys of a table or of a component's type: what each may be, its default, what it means.
std::string table_text(const SchemaSet& schemas, const std::string& table);
std::string component_text(const SchemaSet& schemas, const std::string& kind,
                           const std::string& type);

}  // namespace exprun
