// Which keys a recipe has, by path: what overrides and the axes of a sweep name.
#pragma once

#include <string>
#include <vector>

#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

// The schema of the key at a path, whether or not the recipe writes it; null if it is unknown.
const Schema* schema_at(const SchemaSet& schemas, const Table& root, const std::string& path);

// The declared paths of a recipe that `key` may mean: itself, or all that end in it.
std::vector<std::string> matching_paths(const SchemaSet& schemas, const Table& root,
                                        const std::string& key);

// "did you mean 'optimizer.lr'?" for a key that no path matches; may be empty.
std::string suggest_path(const SchemaSet& schemas, const Table& root, const std::string& key);

}  // namespace exprun
