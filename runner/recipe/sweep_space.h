// The space of a sweep: axes from the command line or a recipe's [sweep] table, and their grid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "recipe/recipe_text.h"
#include "recipe/schema/schema.h"

namespace exprun {

struct SweepValue {
  std::string text;  // of an override: "1e-4", "\"cosine\"", "[0.9, 0.99]"
  SourceSpan where;
};

struct SweepAxis {
  std::string key;  // as written; "~key" is passed on as it is and has no values
  SourceSpan where;
  std::vector<SweepValue> values;
};

// What a point changes, and the text of the user that asks for it.
struct SweepChange {
  std::string override;  // "lr=1e-4"
  SourceSpan key, value;
};
using SweepPoint = std::vector<SweepChange>;

// `key=a,b,c`, `key=choice(a,b)`, `key=range(stop)`, `key=range(start,stop[,step])` (stop is not
// taken), or one value. A comma in quotes or brackets is no separator. Throws RecipeError, which
// points into the argument: no value, a reversed or empty range.
std::vector<SweepAxis> parse_axes(const std::vector<std::string>& arguments);

// Every combination, the last axis fastest: {{"lr=1e-4", "num_layers=2"}, ...}. Throws RecipeError
// if there are too many.
std::vector<SweepPoint> expand_grid(const std::vector<SweepAxis>& axes);

// A recipe's [sweep] table. A trial is the recipe with the override "~sweep" and its point's.
struct Sweep {
  std::vector<SweepAxis> axes;
  std::string method, metric, goal;
};

// Whether the recipe, with its parents and overrides, has one.
bool has_sweep(const RecipeText& text, const SchemaSet& schemas = SchemaSet::embedded());

// Nothing if the recipe has no [sweep]. Throws RecipeError: mistakes in the table. The keys of its
// axes are checked with every trial, as those of a command line are.
std::optional<Sweep> read_sweep(const RecipeText& text,
                                const SchemaSet& schemas = SchemaSet::embedded());

}  // namespace exprun
