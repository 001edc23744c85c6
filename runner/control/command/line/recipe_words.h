// RECIPE [key=value...] of a command line.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/launch/launch.h"
#include "control/launch/ranks/external_launcher.h"

namespace exprun {

// Of what starts a new run each time, for help: the same command does not continue it.
inline constexpr const char* kHowANewRunContinues =
    "If the new run is interrupted, exprun resume continues it.";

// Of the option --detach, for help.
inline constexpr const char* kDetachHelp =
    "run in the background; return once training has started or failed to start";

// Where several machines train together, each has a command of its own. Throws Error (wrong usage).
void refuse_detached_machines(const std::optional<LocalRanks>& ranks);

// Whether a word that is a command or a recipe means a recipe: it ends in .toml, or something lies
// there. A folder counts too: that it is no recipe is a better answer than that it is no command.
bool names_recipe(const std::string& word);

// Whether a word that is a recipe or a run means a recipe: it ends in .toml, or a file or a pipe is
// there. A folder is a run's, as `exprun ls` shows it or as it lies on disk.
bool names_recipe_file(const std::string& word);

// "~" or "+" before the key of a change; empty where it has none.
std::string sign_of(const std::string& change);

// A change of a key of `table` that is written without the table's name: "~evaluation.sample.top_k"
// of "~top_k".
std::string change_in(const std::string& table, const std::string& change);

// Warnings of the recipe are printed, but for those that it gives without the changes, of which a
// run was `told` when it began. Throws RecipeError.
ResolvedRecipe resolved_aloud(const RecipeText& text, const Diagnostics& told = {});

LaunchRequest request_for(RecipeText text, const Globals& globals, const Diagnostics& told = {});

// "lr=3e-4" of "lr = 3e-4", "lr= 3e-4" and "lr 3e-4", of which words[i] is the first word without
// its "="; empty where it is something else. `table`: whose keys stand alone, if not the recipe's.
std::string without_blanks(const Words& words, size_t i, const std::string& table = "");

// "; did you mean 'mine.toml'?" of a word that is no recipe but almost one that lies there: "mine",
// "mine.tml". May be empty.
std::string meant_recipe(const std::string& word);

// What to say of a word that is neither a command nor a recipe: "; did you mean 'mine.toml'?", or
// as meant_command().
std::string meant_command_or_recipe(std::span<const Command> commands, const std::string& word,
                                    const std::string& help);

// Throws Error (wrong usage) for a word that is no override: "lr 3e-4" has lost its "=".
void require_overrides(const Words& words, const std::string& command,
                       const std::string& table = "");

// The options of a command that is given on several machines at once, to train together.
class MachineOptions {
 public:
  void add_to(Arguments& arguments);

  // The ranks of this machine; where no option is given, those that an external launcher has
  // started. More ranks on one machine only are a change of the recipe. Throws Error (wrong usage).
  std::optional<LocalRanks> local_ranks(Words& overrides) const;

 private:
  std::optional<int64_t> nnodes_, nproc_per_node_, node_rank_;
  std::string rdzv_endpoint_;
};

}  // namespace exprun
