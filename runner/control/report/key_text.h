// Keys of the recipe language, explained in lines from their schemas.
#pragma once

#include <string>

#include "recipe/schema.h"

namespace exprun {

// "what it means [unit]"
std::string described(const Schema& schema);

// A name and, in a column beside it, what is said of it.
std::string named(const std::string& name, const std::string& said);

// What a key may be, its default, what it means.
std::string key_text(const std::string& key, const Schema& schema, bool required);

// So for the keys of a table's schema; its sub-tables come behind, under a heading each.
std::string keys_text(const Schema& node, const std::string& path);

// The keys of a recipe that are no tables.
Schema outside_of_tables();

}  // namespace exprun
