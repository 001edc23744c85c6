// The space of a sweep: axes from the command line or a recipe's [sweep] table, and their grid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe_text.h"
#include "recipe/schema.h"

namespace exprun {

struct SweepAxis {
  std::string key;                  // as written; "~key" is passed on as it is and has no values
  std::vector<std::string> values;  // texts of overrides: "1e-4", "\"cosine\"", "[0.9, 0.99]"
};

// `key=a,b,c`, `key=choice(a,b)`, `key=range(stop)`, `key=range(start,stop[,step])` (stop is not
// taken), or one value. A comma in quotes or brackets is no separator. Throws RecipeError, which
// points into the argument: no value, a reversed or empty range, a key given twice.
std::vector<SweepAxis> parse_axes(const std::vector<std::string>& arguments);

// Every combination as overrides, the last axis fastest: {{"lr=1e-4", "num_layers=2"}, ...}.
std::vector<std::vector<std::string>> expand_grid(const std::vector<SweepAxis>& axes);

// A recipe's [sweep] table. A trial is the recipe with the override "~sweep" and its point's.
struct Sweep {
  std::vector<SweepAxis> axes;
  std::string method, metric, goal;
};

// Nothing if the recipe has no [sweep]. Throws RecipeError: mistakes in the table, unknown keys.
std::optional<Sweep> read_sweep(const RecipeText& text,
                                const SchemaSet& schemas = SchemaSet::embedded());

}  // namespace exprun
