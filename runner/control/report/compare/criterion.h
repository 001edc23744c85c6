// By what runs are compared, and which of two is better.
#pragma once

#include <string>
#include <string_view>

#include "control/report/expression.h"

namespace exprun {

enum class Goal { none, lowest, highest };

// What runs are compared by where nobody names a metric: one of the values of a series.
struct Criterion {
  std::string series = "val/loss";
  Goal goal = Goal::lowest;
  ValueName::Which value = ValueName::Which::min;

  friend bool operator==(const Criterion&, const Criterion&) = default;
};

// By the best value of a series.
Criterion best_value_of(std::string series, bool maximize);

// Which of its values is best: a recorded goal is believed, else losses are best when they are low,
// accuracies and rates when they are high; of anything else, as a learning rate, none is.
Goal goal_of(std::string_view series, const Criterion& recorded = {});

}  // namespace exprun
