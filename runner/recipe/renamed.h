// Keys that once had another name: `x-renamed-from` of their schema lists it, oldest first.
#pragma once

#include <optional>
#include <string>

#include "recipe/schema.h"
#include "recipe/table_schema.h"

namespace exprun {

// The names that a key had, oldest first.
std::vector<std::string> old_names(const Schema& key);

// The present name of a key of `table` that was called `old`.
std::optional<std::string> new_name(const TableSchema& table, const std::string& old);

// What the key was called at first: its name in the hash, so that a rename keeps old hashes.
std::string first_name(const std::string& key, const Schema& schema);

// Gives the keys of a recipe that was stored before a rename their present names.
void take_new_names(const SchemaSet& schemas, Table& root);

}  // namespace exprun
