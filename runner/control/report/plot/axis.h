// The axes of a plot: where a value lies, and the round numbers that are written beside it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace exprun {

struct Axis {
  std::string title;  // "step", "time (min)"; empty where the numbers say enough
  double low = 0, high = 1;
  bool is_log = false;    // then both ends are above 0
  bool is_whole = false;  // of whole numbers, as steps: a linear one has no others

  // 0 at the low end, 1 at the high one.
  double at(double value) const;
};

struct Tick {
  double at = 0;  // as Axis::at
  std::string text;
};

// At most so many, at 1, 2 or 5 times a power of ten; on a long logarithmic axis at powers of ten.
// An axis that is too narrow for two of these has linear ones.
std::vector<Tick> ticks(const Axis& axis, size_t most);

}  // namespace exprun
