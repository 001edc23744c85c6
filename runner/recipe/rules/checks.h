// Rules over several tables: each a small function, reported at the key to change.
#pragma once

#include <span>
#include <string>

#include "base/diagnostic.h"
#include "base/facts.h"
#include "recipe/rules/rules.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

// All of them.
std::span<const Rule> rules();

// `root` is completed, or as far as a recipe with other mistakes could be: a rule whose keys are
// absent or not valid is silent.
void check_rules(const SchemaSet& schemas, const Table& root, const Facts& facts,
                 Diagnostics& diagnostics);

// A sweep's recipe cannot be run plainly. `recipe` is its file.
void check_no_sweep(const Table& root, const std::string& recipe, Diagnostics& diagnostics);

}  // namespace exprun
