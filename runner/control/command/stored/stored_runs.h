// Reads runs out of the store for the commands that show them.
#pragma once

#include <string>
#include <vector>

#include "base/dataset_info.h"
#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/report/runs_table.h"
#include "control/report/table.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "store/store.h"

namespace exprun {

// The store of the command, read-only. Throws Error that says how to begin when there is none.
Store open_store(const StoreFolder& folder);

// The store of the command for writing, made when there is none. Runs whose end nobody could record
// are reconciled.
Store open_store_to_write(const StoreFolder& folder);

// The same, but a missing store is an error: there is nothing to change.
Store open_store_to_change(const StoreFolder& folder);

// Whether a reference means runs by a pattern of their folders or names, as 'mine-*' does: no name
// has such a character. A path is none.
bool is_pattern(const std::string& reference);
bool matches(const std::string& pattern, const RunRow& run);

// The runs of a reference as Store::runs_meant_by() takes it, or of the path of a run's folder, or
// those that a pattern matches; one at least. Throws Error. Every command goes by it.
std::vector<RunRow> runs_meant(const Store& store, const StoreFolder& folder,
                               const std::string& reference,
                               Store::Among among = Store::Among::kept);

// The newest of them; a pattern must match one only. In its observed state.
RunRow find_run(const Store& store, const StoreFolder& folder, const std::string& reference);

// The same for a command that prints nothing by which one would know the run: says which it is if
// several have the name.
RunRow find_run_and_say_which(const Store& store, const StoreFolder& folder,
                              const std::string& reference);

// The same for a command that needs the run's folder: @best means the best run whose folder is
// here, if there is one, and a better one is named.
RunRow find_run_for_folder(const Store& store, const StoreFolder& folder,
                           const std::string& reference);

// The recipe that a run was begun with, and changes of it.
RecipeText stored_recipe(const Store& store, const RunRow& run, const Words& changes = {});

// What a run was last asked to do: keys that change no result may have changed since its start.
RecipeText latest_recipe(const Store& store, const StoreFolder& folder, const RunRow& run);

// What a run's data told of it; nothing where its folder is gone.
DatasetInfo dataset_info_of(const StoreFolder& folder, const RunRow& run);

// What a stored recipe means; Error, where it means nothing to this exprun, that names the command
// and the run as it was referred to.
ResolvedRecipe resolve_stored(const RecipeText& text, const char* command,
                              const std::string& reference, const DatasetInfo& dataset_info = {});

// The stored recipe with changes, for a command that goes on with it: as it stands it must mean
// something to this exprun. Throws as resolve_stored().
RecipeText understood_recipe(const Store& store, const RunRow& run, const Words& changes,
                             const char* command, const std::string& reference);

// These rows with their losses, without their parameters; many at once.
std::vector<ReportedRun> all_runs(const Store& store, const StoreFolder& folder,
                                  std::vector<RunRow> rows);

void read_parameters(const Store& store, std::vector<ReportedRun>& runs);

ReportedRun reported_run(const Store& store, RunRow run);

// Throws Error (wrong usage) where a reference, which means this run, is its id and the name of
// others, for a command that loses something.
void require_one_meaning(const std::string& command, const Store& store,
                         const std::string& reference, const RunRow& meant,
                         Store::Among among = Store::Among::kept);

// Throws Error (wrong usage) where neither runs nor a sweep are named.
void require_runs(const std::string& command, const Words& references, const std::string& sweep);

// The rows of the references (a name or a pattern means all its runs), or of the `sweep` that is
// given in their stead: its number, its name or @last; all runs, newest first, if there is neither.
// Throws Error.
std::vector<RunRow> referred_runs(const Store& store, const StoreFolder& folder,
                                  const Words& references, const std::string& sweep = "",
                                  Store::Among among = Store::Among::kept);

// The same for a command that would take one of several runs unasked, or all: each reference but a
// pattern must mean one run only, as require_one_meaning() does. `has_where`: the command has
// --where, which can mean several.
std::vector<RunRow> runs_to_change(const std::string& command, const Store& store,
                                   const StoreFolder& folder, const Words& references,
                                   const std::string& sweep, Store::Among among, bool has_where);

// The same with their losses and parameters.
std::vector<ReportedRun> reported_runs(const Store& store, const StoreFolder& folder,
                                       const Words& references, const std::string& sweep = "");

// Throws Error that begins with `who` and lists the states when `name` is none of them.
void require_state(const std::string& who, const std::string& name);

}  // namespace exprun
