// The keys and sub-tables of a name or a path, wherever they stand: "lr", "model.norm.eps",
// "model.norm"; `extends` and `version` stand outside of the tables.
#pragma once

#include <string>
#include <vector>

#include "recipe/schema.h"

namespace exprun {

// Explained, each under its table. Empty if there is none.
std::string keys_named_text(const SchemaSet& schemas, const std::string& name);

// The same as [{"table": "optimizer", "types": ["adamw"], "schema": {"properties": {"lr": ...}}}].
Schema keys_named_json(const SchemaSet& schemas, const std::string& name);

// All that can be explained: tables, "optimizer/adamw", and keys by name and path.
std::vector<std::string> explained_names(const SchemaSet& schemas);

}  // namespace exprun
