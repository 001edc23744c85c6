// A valid table of a component: its defaults, and the schema's examples for keys that have none or
// are "auto". Tests build every component from it.
#pragma once

#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

Table example_table(const SchemaSet& schemas, std::string_view kind, std::string_view type);

}  // namespace exprun
