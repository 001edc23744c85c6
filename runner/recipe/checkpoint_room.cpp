#include "recipe/checkpoint_room.h"

#include <algorithm>

#include "base/humane.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {

Diagnostics checkpoint_room_problems(const ResolvedRecipe& recipe, const CheckpointRoom& room,
                                     Severity severity) {
  const int64_t kept = integer_at(recipe.root(), "checkpoint.keep_last").value_or(0);
  const int64_t more = std::min(std::max<int64_t>(kept + 1 - room.saved, 1), room.to_come);
  const double needed = static_cast<double>(room.bytes) * static_cast<double>(more);
  if (!room.left || needed <= static_cast<double>(*room.left)) return {};
  const std::string checkpoints =
      more == 1 ? std::string(room.saved == 0 ? "one" : "one more") + " checkpoint takes "
                : std::to_string(more) + (room.saved == 0 ? "" : " more") + " checkpoints take ";
  return {{place_of(recipe.root(), "checkpoint.keep_last"),
           checkpoints + binary_bytes(needed) + ", and the disk of " + room.folder + " has " +
               binary_bytes(static_cast<double>(*room.left)) + " left",
           "free some space, or choose another place with --store",
           {},
           severity}};
}

}  // namespace exprun
