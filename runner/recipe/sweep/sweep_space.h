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
  bool is_axis = false;      // its key has several values in the sweep
  bool is_computed = false;  // its value, by linspace or logspace
};
using SweepPoint = std::vector<SweepChange>;

struct SweepAxis {
  std::string key;  // as written, of the first of several; "~key" is passed on as it is
  SourceSpan where;
  // One change each; of a zip and of a file of points several, made together.
  std::vector<SweepPoint> values;
  std::optional<Interval> interval = {};  // of `key`, in place of values
  bool takes_integers = false;            // from the interval
  std::optional<CountedRange> counted = {};
};

// Whether it has several values.
bool varies(const SweepAxis& axis);

// `key=a,b,c`, a function of sweep_values.h in place of the list, `key=a`, `~key`, or
// `zip(key=[a,b], other=[c,d])`. An argument with a mistake makes no axis.
std::vector<SweepAxis> parse_axes(const std::vector<std::string>& arguments, Diagnostics& mistakes);

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

// Marks the intervals of keys that take integers only, and rounds what linspace and logspace have
// computed for such keys: of equal values one is left. `root` is the completed recipe. An axis
// without an integer is a mistake and dropped, and so is a range with a count for its step.
void find_integers(std::vector<SweepAxis>& axes, const Table& root, const SchemaSet& schemas,
                   Diagnostics& mistakes);

// "lr=[1e-3,3e-4]" and "seed=1..3" are one value, and none that such a key takes: a mistake, and
// dropped.
void drop_unlisted(std::vector<SweepAxis>& axes, const Table& root, const SchemaSet& schemas,
                   Diagnostics& mistakes);

// A grid has values only: each interval is a mistake.
Diagnostics intervals_in_a_grid(const std::vector<SweepAxis>& axes);

// With one of its numbers in place of each interval.
std::vector<SweepAxis> with_values_only(std::vector<SweepAxis> axes);

// Every combination of values, the last axis fastest: {{"lr=1e-4", "num_layers=2"}, ...}. Throws
// RecipeError if there are too many.
std::vector<SweepPoint> expand_grid(const std::vector<SweepAxis>& axes);

// Each value of each axis, with the first ones of the others. Of very many values the first and the
// last ones.
std::vector<SweepPoint> one_at_a_time(const std::vector<SweepAxis>& axes);

// Each point with each value of the axis.
std::vector<SweepPoint> with_each(const std::vector<SweepPoint>& points, const SweepAxis& axis);

// `count` different points of a random search, or all that there are, spread evenly over the axes
// (base/sobol_sequence.h). The i-th that is drawn depends on `seed`, i and the axes only, so that a
// larger count adds points after the others.
std::vector<SweepPoint> draw_points(const std::vector<SweepAxis>& axes, int64_t count,
                                    int64_t seed);

}  // namespace exprun
