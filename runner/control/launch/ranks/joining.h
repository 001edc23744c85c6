// A command that trains, where another launcher (torchrun, srun, mpirun) may have started it once a
// rank: rank 0 performs it, the others become its trainers.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "control/launch/launch.h"
#include "control/launch/ranks/following.h"
#include "control/launch/ranks/joined_rank.h"
#include "recipe/recipe_text.h"

namespace exprun {

struct Performed {
  int exit_code = 0;
  bool trained = false;      // with all ranks
  bool others_wait = false;  // as in Launch
  std::string why = {};      // of a failure
};

Performed performed(const Launch& launched);  // with a trainer

// Performs it, as rank 0 where there are several (nothing is given where there are none); ranks
// above 0 follow. However it ends, it is shown why, and no rank is left waiting. Returns its exit
// code; throws what it throws where there is one rank.
//
// `own_recipe` is asked on a rank above 0.
using OwnRecipeReader = std::function<OwnHash(const std::optional<JoinedRank>&)>;
int perform_among_ranks(LogLevel level, const std::optional<JoinedRank>& joined,
                        const OwnRecipeReader& own_recipe,
                        const std::function<Performed(const std::optional<JoinedRank>&)>& perform);

// For commands that name no recipe.
int perform_among_ranks(LogLevel level, const std::optional<JoinedRank>& joined,
                        const std::function<Performed(const std::optional<JoinedRank>&)>& perform);

// Nor know machines.
int perform_among_ranks(LogLevel level,
                        const std::function<Performed(const std::optional<JoinedRank>&)>& perform);

// As the environment says it.
std::optional<JoinedRank> joined_here();

// Before a command that starts runs of its own, one after another: under a launcher it would be
// started once a rank, all at once. Throws Error that says how to do it.
void require_no_other_launcher(const std::string& command);

// The launcher of the ranks decides how many there are, whatever the recipe and the command say;
// where none is, "auto" is one a GPU.
RecipeText with_world_size_of(const std::optional<JoinedRank>& joined, RecipeText text);

// Asks whether the run is free; a command that was started anew asks again for 40 s, until it is:
// what is left of its former life may still be saving, or give no sign of life any more.
void await_former_life(bool restarted, const std::function<bool()>& run_is_free);

}  // namespace exprun
