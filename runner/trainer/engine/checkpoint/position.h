// Where training stands between two steps. With parameters and optimizer state it is all that a
// run needs to go on to the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "engine/divergence/divergence.h"
#include "engine/precision/precision.h"

namespace exprun {

// The best value of the recipe's metric so far.
struct Best {
  double value = 0;
  int64_t step = 0;

  bool operator==(const Best&) const = default;
};

struct Position {
  int64_t step = 0;                 // completed updates
  std::set<std::string> evaluated;  // evaluations recorded at this step already
  std::optional<Best> best;
  int64_t without_improvement = 0;  // evaluations of its metric in a row, as early_stop counts
  LossScale loss_scale;             // with fp16
  // Updates that the optimizer's state knows nothing of: those before it began, and skipped ones.
  int64_t optimizer_start = 0;
  DivergenceState divergence = {};
  std::optional<double> improved_to = {};  // what early_stop compares with

  bool operator==(const Position&) const = default;
};

}  // namespace exprun
