// How a recipe can name the files of a folder, which is no source itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "text/prepared_data.h"

namespace exprun {

// What a key of a recipe names files of.
struct WantedFiles {
  std::string dataset = "text";  // the type of [dataset]
  Split split = Split::train;
};

// The pattern that only this name matches.
std::string as_pattern(const std::string& name);

// Whether a folder has the train.bin and val.bin of nanoGPT, tokens without a header.
bool has_bare_tokens(const std::filesystem::path& folder);

// Whether these are no tokens of GPT-2, but of the characters that the meta.pkl beside them lists.
bool has_tokens_of_characters(const std::filesystem::path& folder);

// Whether the text from which nanoGPT made these tokens lies beside them.
bool has_text_of_tokens(const std::filesystem::path& folder);

// Whether token shards that say so by their header lie in a folder.
bool has_token_shards(const std::filesystem::path& folder);

// Whether a word in the name of a token shard says so: "val", "validation", "eval", "owtval".
bool is_named_for_validation(const std::filesystem::path& shard);

// Whether ** does not enter a folder: a store of runs, or what else exprun wrote, such as prepared
// data, unless it is token shards that are wanted.
bool is_left_out(const std::filesystem::path& folder, const std::string& dataset);

// Of token shards (*.bin), such as "shards/train_*.bin" for those that a number at the end tells
// apart, those of the wanted split: "val" in their names means validation. Of texts and records
// "notes/**", or "notes/**/*.md" where that also matches files that are none, or would match the
// recipes that are written there; of nanoGPT's folder its text alone. Empty where there are none.
std::vector<std::string> folder_patterns(const std::filesystem::path& folder,
                                         const WantedFiles& wanted);

// All files that ** matches in a folder, but for the schema that editors read.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::string& dataset);

// One pattern as TOML, or an array of several.
std::string toml_of_patterns(const std::vector<std::string>& patterns);

// "write "notes/**/*.md"", or what the folder has instead.
std::string how_to_name_files_in(const std::filesystem::path& folder, const WantedFiles& wanted);

}  // namespace exprun
