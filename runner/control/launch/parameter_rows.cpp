#include "control/launch/parameter_rows.h"

#include <algorithm>

namespace exprun {

std::vector<ParameterRow> parameter_rows(const ResolvedRecipe& resolved) {
  const auto changed = resolved.leaves(true);
  std::vector<ParameterRow> parameters;
  for (auto& leaf : resolved.leaves(false)) {
    const bool is_changed = std::find(changed.begin(), changed.end(), leaf) != changed.end();
    parameters.push_back({std::move(leaf.first), std::move(leaf.second), is_changed});
  }
  return parameters;
}

}  // namespace exprun
