// The data and the recipe that a run was trained with, and how the data of a new one differ where
// no recipe can tell: files were edited or replaced.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files/run_folder.h"
#include "control/data/prepare.h"
#include "control/launch/store_folder.h"
#include "recipe/resolved.h"
#include "store/rows.h"
#include "text/prepared_data.h"

namespace exprun {

// Nothing where the folder is gone, or its description is damaged.
std::optional<PreparedData> data_of_run(const RunFolder& folder);

// Whether the shards are: gc may have removed them.
bool are_there(const PreparedData& data);

// The data of `run` where files that they were made of are gone, those that are left are as they
// were and the prepared tokens are there: they are enough to train on, and it is said, with those
// of the `sources` that a recipe names now and that are new. Nothing otherwise. `sources` are asked
// for only then. Throws Error for a file that cannot be read, and for prepared tokens that are
// damaged.
std::optional<PreparedData> data_without_sources(
    const RunRow& run, const RunFolder& folder,
    const std::function<std::vector<std::filesystem::path>()>& sources);

// The same as data_of_run of its recipe, as far as this version understands it, without what only
// the data tell.
std::optional<ResolvedRecipe> recipe_of_run(const RunFolder& folder);

// "text.txt has changed since", of the sources that the run in `folder` was trained on. Empty where
// none has, and where nothing is known of them.
std::string changed_sources(const PreparedData& now, const RunFolder& folder);

// The same with those that are gone, and with new ones of a recipe that names the same:
// "a.txt has changed since; b.txt is gone; c.txt is new".
std::string different_sources(const PreparedData& now, const RunFolder& folder);

// different_sources(), or that the content differs, where the data are not those of `run`. Where
// keys of [dataset] say that they are others, changed_sources(). Empty where they are the same.
std::string data_difference(const PreparedData& now, const RunRow& run, const RunFolder& folder,
                            bool keys_differ);

// Whether what a recipe names `now` is known not to be what the run was trained on: it makes other
// data, or none that is prepared, although that of the run is still there.
bool has_other_data(const DataGlance& now, const RunRow& run, const StoreFolder& folder);

}  // namespace exprun
