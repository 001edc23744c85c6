#include "recipe/rules/checkpoint_space.h"

#include <algorithm>

#include "base/format_units.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {

Diagnostics checkpoint_space_problems(const ResolvedRecipe& recipe, const CheckpointSpace& space,
                                      Severity severity) {
  const bool keeps_best = text_at(recipe.root(), "checkpoint.keep_best").value_or("none") != "none";
  const int64_t kept = integer_at(recipe.root(), "checkpoint.keep_last").value_or(0) + keeps_best;
  const int64_t more = std::min(std::max<int64_t>(kept + 1 - space.saved, 1), space.to_come);
  const double needed = static_cast<double>(space.bytes) * static_cast<double>(more);
  if (!space.left || needed <= static_cast<double>(*space.left)) return {};
  const std::string checkpoints =
      more == 1 ? std::string(space.saved == 0 ? "one" : "one more") + " checkpoint takes "
                : std::to_string(more) + (space.saved == 0 ? "" : " more") + " checkpoints take ";
  return {{place_of(recipe.root(), "checkpoint.keep_last"),
           checkpoints + binary_bytes(needed) + ", but the disk of " + space.folder + " has " +
               binary_bytes(static_cast<double>(*space.left)) + " left",
           "free some space, or choose another place with --store",
           {},
           severity}};
}

}  // namespace exprun
