// A recipe over its parents: tables merge, all other values replace.
#pragma once

#include <vector>

#include "base/diagnostic.h"
#include "recipe/recipe_text.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

// A recipe's files in one tree: parents first, overrides not yet applied.
struct Extended {
  Table root;
  std::vector<SourceSpan> extended_from;  // by file: where the file before it names it
  Diagnostics diagnostics;                // of the files, and of merging them
};

// Throws RecipeError if a file is no TOML: there is nothing to say about the rest.
Extended extend_files(const RecipeText& text, const SchemaSet& schemas);

// A mistake in a parent says how it was reached.
void add_chains(const RecipeText& text, const Extended& extended, Diagnostics& diagnostics);

// Puts `child` over `base`. Where the child picks another type of component, keys that only the
// base's type has are left behind, with a warning for each.
void merge(const SchemaSet& schemas, Table& base, Table child, Diagnostics& diagnostics);

}  // namespace exprun
