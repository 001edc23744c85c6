// Tables and components of the recipe language, explained from their schemas.
#pragma once

#include <string>
#include <vector>

#include "recipe/schema/schema.h"

namespace exprun {

// Every table with what it is for and its types; then the keys outside of the tables.
std::string tables_text(const SchemaSet& schemas);

// The keys of a table or of a component's type: what each may be, its default, what it means.
std::string table_text(const SchemaSet& schemas, const std::string& table);
std::string component_text(const SchemaSet& schemas, const std::string& kind,
                           const std::string& type);

// A JSON value of a schema, as a recipe has it.
std::string toml_of(const Schema& json);

// The keys and sub-tables of a name or a path, wherever they stand: "lr", "model.norm.eps",
// "model.norm"; `extends` and `version` stand outside of the tables.

// Explained, each under its table. Empty if there is none.
std::string keys_named_text(const SchemaSet& schemas, const std::string& name);

// The same as [{"table": "optimizer", "types": ["adamw"], "schema": {"properties": {"lr": ...}}}].
Schema keys_named_json(const SchemaSet& schemas, const std::string& name);

// All that can be explained: tables, "optimizer/adamw", and keys by name and path.
std::vector<std::string> explained_names(const SchemaSet& schemas);

}  // namespace exprun
