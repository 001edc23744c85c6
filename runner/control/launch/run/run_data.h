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

// What becomes of files that a recipe names now and that `run` was not trained on, where none of
// its own is gone: a run that is continued leaves them out, a new one reads them.
enum class NewSources { are_left_out, are_read };

// The data of `run` where files that they were made of are gone, or others are among the `sources`
// that a recipe names now, those that are left are as they were and the tokens are there: they are
// enough to train on, and it is said. Nothing otherwise. Throws Error for a file that cannot be
// read, and for prepared tokens that are damaged.
std::optional<PreparedData> recorded_data(
    const RunRow& run, const RunFolder& folder, NewSources new_sources,
    const std::function<std::vector<std::filesystem::path>()>& sources);

// Before validation tokens of `run` are read without training: those that are damaged or gone are
// prepared again, as training would, from what its recipe names. Tokens to train on may be gone. A
// description that is damaged is left to the trainer. Returns the data of the run with token shards
// that lie elsewhere now, where they do. Throws RecipeError, and Error where there are only other
// tokens.
std::optional<PreparedData> restore_validation(const RunRow& run, const StoreFolder& folder,
                                               const ResolvedRecipe& recipe);

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

// Whether the tokens of the run were prepared from text that has changed since, and are still
// there: without that text the run continues with them.
bool outlives_its_text(const PreparedData& now, const RunFolder& folder);

// "the data of mine-1a2b3c4d has changed since it began (fingerprint ..., now ...; b.txt is gone),
// or this version of exprun prepares it differently; bring the old data back".
std::string changed_data(const PreparedData& now, const RunRow& run, const RunFolder& folder);

// Whether what a recipe names, by its data_fingerprint() `now`, is known not to be what the run was
// trained on. Without one, as of large texts that nobody has read, the sizes of the files may tell.
bool has_other_data(const ResolvedRecipe& recipe, const std::optional<std::string>& now,
                    const RunRow& run, const RunFolder& folder);

// Whether they were not all trained on the same data: only data_fingerprint() tells then which of
// them a recipe means.
bool differ_in_data(const std::vector<RunRow>& runs);

// Said to the user where there is none.
inline constexpr const char* kDataPrepareTells =
    "`exprun data prepare RECIPE` says what is missing";

}  // namespace exprun
