// The values of one axis of a sweep as they are written: "1e-4,3e-4", "range(3)", "log:1e-5..1e-2".
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace exprun {

struct SweepValue {
  std::string text;  // of an override: "1e-4", "\"cosine\"", "[0.9, 0.99]"
  SourceSpan where;
  bool is_computed = false;  // by linspace or logspace
};

// Numbers to draw from, low < high; on a log scale both are above 0.
struct Interval {
  double low = 0, high = 0;
  bool is_log = false;
  SourceSpan where;
};

// A range whose third number was meant as the count of its values, as numpy's linspace has it: as a
// step it makes one value, which nobody writes. What to write depends on the key.
struct CountedRange {
  std::string first, last, count;
  SourceSpan where;
};

Diagnostic step_is_no_count(const CountedRange& range, bool takes_integers);

// A list or an interval.
struct SweepValues {
  std::vector<SweepValue> list;
  std::optional<Interval> interval;
  std::optional<CountedRange> counted = {};  // what the list may be meant as
};

// Where some bytes of the text stand in its file.
using PlaceInFile = std::function<SourceSpan(size_t begin, size_t size)>;

// A part of a text and where it begins there.
struct ListPart {
  std::string text;
  size_t begin = 0;
};

// At commas outside of quotes and brackets, without the blanks around each part.
std::vector<ListPart> split_list(const std::string& text, size_t begin, size_t end);

// What closes the bracket at `open`, outside of quotes; npos if nothing does.
size_t closing_bracket(const std::string& text, size_t open);

// "a,b", choice(a,b), range(stop), range(start,stop[,step]) (without stop), linspace(a,b,n) and
// logspace(a,b,n) (with both ends), interval(a,b), loguniform(a,b) and log:a..b, which are
// intervals, or one value. A comma in quotes or brackets is no separator. Throws RecipeError.
SweepValues parse_sweep_values(const std::string& text, const PlaceInFile& place);

// What to write for is_bare_interval(): "range(1,5)" for "1:4:1", where 4 may be one of the values
// or not, and "range(1,4,2)" for "1:4:2", where it is none.
std::string instead_of_bare_interval(const std::string& text);

// With `digits` significant digits and no more than are needed: 0.1 + 0.2 as "0.3", 32.0 as "32".
std::string rounded_text(double value, int digits);

}  // namespace exprun
