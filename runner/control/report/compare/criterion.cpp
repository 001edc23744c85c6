#include "control/report/compare/criterion.h"

#include <optional>
#include <utility>

#include "recipe/series.h"

namespace exprun {

Criterion best_value_of(std::string series, bool maximize) {
  return {std::move(series), maximize ? Goal::highest : Goal::lowest,
          maximize ? ValueName::Which::max : ValueName::Which::min};
}

Goal goal_of(std::string_view series, const Criterion& recorded) {
  if (series == recorded.series) return recorded.goal;
  const std::optional<bool> larger = larger_is_better(series);
  if (!larger) return Goal::none;
  return *larger ? Goal::highest : Goal::lowest;
}

}  // namespace exprun
