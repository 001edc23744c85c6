// A command that trains, which an external launcher (torchrun, srun, mpirun) may have started once
// for each rank, or people on each machine: rank 0 performs it, the others become its trainers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "control/launch/launch.h"
#include "control/launch/ranks/external_launcher.h"
#include "recipe/recipe_text.h"
#include "store/store.h"

namespace exprun {

// The hash of the recipe that a rank above 0 was started with, to be compared with rank 0's;
// nothing where its command names none.
using OwnHash = std::optional<std::string>;

struct Performed {
  int exit_code = 0;
  bool trained = false;      // with all ranks
  bool others_wait = false;  // as in Launch
  std::string why = {};      // of a failure
};

Performed performed(const Launch& launched);  // with a trainer

// Calls `perform` on rank 0, or where there are no ranks (with nothing then); ranks above 0 follow,
// and ask `own_recipe`. However it ends, the reason is shown and no rank is left waiting. Returns
// the exit code; without ranks, throws what `perform` throws.
using Perform = std::function<Performed(const std::optional<LocalRanks>&)>;
using OwnRecipeReader = std::function<OwnHash(const std::optional<LocalRanks>&)>;
int perform_among_ranks(LogLevel level, const std::optional<LocalRanks>& ranks,
                        const OwnRecipeReader& own_recipe, const Perform& perform);

// For commands that name no recipe.
int perform_among_ranks(LogLevel level, const std::optional<LocalRanks>& ranks,
                        const Perform& perform);

// For commands that cannot run on several machines either.
int perform_among_ranks(LogLevel level, const Perform& perform);

// Before a command that starts runs of its own, one after another: under a launcher it would be
// started once a rank, all at once. Throws Error that says how to do it.
void require_no_external_launcher(const std::string& command);

// The launcher of the ranks decides how many there are, whatever the recipe and the command say;
// where none is, "auto" is one a GPU.
RecipeText with_world_size_of(const std::optional<LocalRanks>& ranks, RecipeText text);

// Asks whether the run is free; a command that was started anew asks again for 40 s, until it is:
// what is left of its earlier attempt may still be saving, or give no sign of life any more.
void await_previous_attempt(bool restarted, const std::function<bool()>& run_is_free);

// From now on SIGUSR2, SIGTERM and SIGINT do what they did before: a trainer takes them, and tells
// the others, or one that shuts them down is under way.
void leave_signals_to_trainer();

// A stored run's recipe asks for the ranks of all machines that trained it last.

// For a command that uses it again where nobody has started other ranks. Throws Error that says
// what to do, unless `overrides` say how many ranks this machine is to make.
void require_ranks_for_one_machine(const Store& store, const RunRow& run,
                                   const std::string& command,
                                   const std::vector<std::string>& overrides);

}  // namespace exprun
