// The store of a command, and what it has of runs: their recipes, and their losses and parameters.
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

// What a table of all runs says where there are none.
std::string why_no_runs(const Store& store, const StoreFolder& folder);

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

// Those of referred_runs() with their losses and parameters.
std::vector<ReportedRun> reported_runs(const Store& store, const StoreFolder& folder,
                                       const Words& references, const std::string& sweep = "");

// What came of the run, as run_result().
std::string result_of(const Store& store, const StoreFolder& folder, const RunRow& run);

// Throws Error that begins with `who` and lists the states when `name` is none of them.
void require_state(const std::string& who, const std::string& name);

}  // namespace exprun
