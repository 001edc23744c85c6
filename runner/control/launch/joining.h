// A command that trains, where another launcher (torchrun, srun, mpirun) may have started it once a
// rank: rank 0 performs it, the others become its trainers.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "control/launch/joined_rank.h"
#include "recipe/recipe_text.h"

namespace exprun {

struct Performed {
  int exit_code = 0;
  bool trained = false;  // with all ranks
};

// Performs it, as rank 0 where there are several (nothing is given where there are none); a rank
// above 0 does not come back. However it ends without having trained, no rank is left waiting.
// Returns its exit code, throws what it throws, and Error when the launcher's variables make no
// sense.
//
// `recipe_hash` is asked on a rank above 0: of the recipe that its own command names, if it does.
using RecipeHash = std::function<std::optional<std::string>(const std::optional<JoinedRank>&)>;
int perform_among_ranks(LogLevel level, const RecipeHash& recipe_hash,
                        const std::function<Performed(const std::optional<JoinedRank>&)>& perform);

// For commands that name no recipe.
std::optional<std::string> no_recipe(const std::optional<JoinedRank>&);

// Before a command that starts runs of its own, one after another: under a launcher it would be
// started once a rank, all at once. Throws Error that says how to do it.
void require_no_other_launcher(const std::string& command);

// The launcher of the ranks decides how many there are, whatever the recipe and the command say.
RecipeText with_world_size_of(const std::optional<JoinedRank>& joined, RecipeText text);

// Asks whether the run is free; ranks that have been started anew ask again for 30 s, until it is:
// what is left of their former life may still be saving.
void await_former_life(const std::optional<JoinedRank>& joined,
                       const std::function<bool()>& run_is_free);

}  // namespace exprun
