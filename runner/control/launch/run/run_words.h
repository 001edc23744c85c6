// How a store calls the run that somebody names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

// Newest first.
std::vector<RunRow> runs_among(const Store& store, Store::Among among);

// What Store::runs_meant_by() takes: of the path of a run's folder, as a shell completes it
// ("runs/tiny-1a2b3c4d/"), the folder; of the name of a recipe's file, without .toml, the name that
// its runs have; else the word itself. Nothing for a path of anything else: its last component is
// nobody's name here.
std::optional<std::string> word_in_store(const Store& store, const StoreFolder& folder,
                                         const std::string& words,
                                         Store::Among among = Store::Among::kept);

// The whole path of the recipe that a run was begun with. Throws Error.
std::filesystem::path recipe_file_of(const Store& store, const RunRow& run);

}  // namespace exprun
