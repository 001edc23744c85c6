// What of a completed recipe identifies the configuration (design: the recipe language).
#pragma once

#include <string>
#include <vector>

#include "recipe/derive.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

struct Leaf {
  std::string path;
  std::string canonical;  // the path in the hash: with the first name that the key had
  std::string text;       // as TOML
  bool identity = true;   // not marked x-identity: false
  bool changed = true;    // neither at its default nor at its derived value
};

// Every key of the recipe that is no table, in its order. The type of a named sub-table always
// counts as changed: it says that the table is there. Facts play no part, so that a recipe is the
// same before and after its data are prepared.
std::vector<Leaf> leaves_of(const SchemaSet& schemas, const Table& root, const std::string& file);

// The recipe as it may be written down: what only facts told is "auto" again.
Table without_facts(const SchemaSet& schemas, Table root, const std::string& file);

// 32 hex digits of the changed identity leaves, sorted by path. Nothing in `root` is changed.
std::string hash_of(const SchemaSet& schemas, Table& root, const std::string& file);

}  // namespace exprun
