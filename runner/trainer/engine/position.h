// Where training stands between two steps. With parameters and optimizer state it is all that a
// run needs to go on to the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace exprun {

// The lowest validation loss so far.
struct Best {
  double value = 0;
  int64_t step = 0;

  bool operator==(const Best&) const = default;
};

struct Position {
  int64_t step = 0;                 // completed updates
  std::set<std::string> evaluated;  // evaluations recorded at this step already
  std::optional<Best> best;

  bool operator==(const Position&) const = default;
};

}  // namespace exprun
