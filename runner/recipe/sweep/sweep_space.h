// The space of a sweep: its axes, and the points of their grid or of a random search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "recipe/schema/schema.h"
#include "recipe/sweep/sweep_values.h"
#include "recipe/value.h"

namespace exprun {

// What a point changes, and the text of the user that asks for it.
struct SweepChange {
  std::string override;  // "lr=1e-4"
  SourceSpan key, value;
  bool is_axis = false;  // its key has several values in the sweep
};
using SweepPoint = std::vector<SweepChange>;

struct SweepAxis {
  std::string key;  // as written, of the first of several; "~key" is passed on as it is
  SourceSpan where;
  // One change each; of a zip and of a file of points several, made together.
  std::vector<SweepPoint> values;
  std::optional<Interval> interval = {};  // of `key`, in place of values
  bool takes_integers = false;            // from the interval
};

// Whether it has several values.
bool varies(const SweepAxis& axis);

// `key=a,b,c`, a function of sweep_values.h in place of the list, `key=a`, `~key`, or
// `zip(key=[a,b], other=[c,d])`. Throws RecipeError with the mistakes of all arguments.
std::vector<SweepAxis> parse_axes(const std::vector<std::string>& arguments);

// Axes of one key each as one: their first values together, their second values... Throws
// RecipeError unless they have the same number of values.
SweepAxis zip_axes(const std::vector<SweepAxis>& axes);

// The axis of one key.
SweepAxis make_axis(std::string key, const SourceSpan& where, SweepValues values);

// The key whose values only repeat a point, and whether an axis, as it is written, is of that key:
// "seed", "run.seed".
inline constexpr const char* kReplicateKey = "run.seed";
bool is_replicate(const std::string& axis);

// An axis with so many values of kReplicateKey: `first`, first + 1...
SweepAxis seeds_axis(int64_t first, int64_t count, const SourceSpan& where);

// Of an override, without the sign before it and the value: "lr" of "+lr=1".
std::string key_of(const std::string& override_);

// Takes what a point sets as `key` away from the axes; one that sets nothing else is dropped.
// "lr" and "optimizer.lr" may be the same key.
void remove_key(std::vector<SweepAxis>& axes, const std::string& key);
bool may_be_same_key(const std::string& a, const std::string& b);

// Marks the intervals of keys that take integers only; `root` is the completed recipe.
void find_integers(std::vector<SweepAxis>& axes, const Table& root, const SchemaSet& schemas);

// "lr=[1e-3,3e-4]" is one value, and none that such a key takes. Throws RecipeError.
void require_no_bare_lists(const std::vector<SweepAxis>& axes, const Table& root,
                           const SchemaSet& schemas);

// Every combination, the last axis fastest: {{"lr=1e-4", "num_layers=2"}, ...}. Throws RecipeError
// if there are too many, or if an axis is an interval.
std::vector<SweepPoint> expand_grid(const std::vector<SweepAxis>& axes);

// Each point with each value of the axis.
std::vector<SweepPoint> with_each(const std::vector<SweepPoint>& points, const SweepAxis& axis);

// `count` different points of a random search, or all that there are, spread evenly over the axes
// (base/sobol_sequence.h). The i-th that is drawn depends on `seed`, i and the axes only, so that a
// larger count adds points behind the others.
std::vector<SweepPoint> draw_points(const std::vector<SweepAxis>& axes, int64_t count,
                                    int64_t seed);

}  // namespace exprun
