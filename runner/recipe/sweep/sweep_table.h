// A recipe's [sweep] table: the axes of the sweep, how they are searched, and what is compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe_text.h"
#include "recipe/sweep/sweep_space.h"

namespace exprun {

// How the space is searched, apart from its axes. A place is where the user asks for it.
struct SweepSearch {
  std::string method;  // "grid" or "random"; empty: not said
  SourceSpan method_where;
  bool is_method_known = true;  // not where what is written as 'method' or 'trials' is wrong
  std::string points;           // a file; empty: none
  SourceSpan points_where;
  std::optional<int64_t> seeds, trials, random_seed;
  SourceSpan seeds_where, trials_where;
  // Which trials are stopped early, in the words of the schema; empty: not said.
  std::string early_stop;
  std::optional<int64_t> reduction, min_steps;
  SourceSpan min_steps_where;
};

// A trial is the recipe with the override "~sweep" and its point's.
struct Sweep {
  std::vector<SweepAxis> axes;
  SweepSearch search;
  std::string metric, goal;  // empty: not said
  SourceSpan metric_where;
  std::string summary;   // empty: not said
  Diagnostics mistakes;  // in the table; what is wrong there is not among all else
};

// Whether the recipe, with its parents and overrides, has one.
bool has_sweep(const RecipeText& text, const SchemaSet& schemas = SchemaSet::embedded());

// Nothing if the recipe has no [sweep]. The keys of its axes are checked with every trial, as those
// of a command line are. Throws RecipeError for a file that is no TOML.
std::optional<Sweep> read_sweep(const RecipeText& text,
                                const SchemaSet& schemas = SchemaSet::embedded());

}  // namespace exprun
