// A folder of prepared data: data.json, shards, the vocabulary, and the manifest of all.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files/atomic_folder.h"
#include "text/prepared_data.h"

namespace exprun {

inline constexpr const char* kDataDescription = "data.json";  // PreparedData, in its folder
inline constexpr const char* kVocabularyFolder = "vocabulary";

// What a folder that holds a whole set says of it, names left as they are.
std::optional<PreparedData> described_set(const std::filesystem::path& folder);

// The same of a folder whose files nobody has compared with its manifest.
std::optional<PreparedData> unverified_set(const std::filesystem::path& folder);

// Names within the folder become paths. Throws Error.
PreparedData load_set(const std::filesystem::path& folder);

// The folders that the tokens of both splits lie in.
std::set<std::filesystem::path> folders_of(const PreparedData& data);

// What is to be done about a folder whose description or manifest is damaged.
std::string how_to_prepare_again(const std::filesystem::path& folder);

// The sets below a store's data folder.
std::vector<std::filesystem::path> prepared_sets(const std::filesystem::path& data_folder);

// What killed preparations left below a store's data folder. It is not taken where anybody
// prepares: one lock covers all data of a store, and one beside it a folder of the user's own.

std::filesystem::path preparing_lock(const std::filesystem::path& data_folder);

std::filesystem::path own_lock(const std::filesystem::path& folder);

// Folders that nobody goes on with now; none while the store's data are being prepared.
std::vector<std::filesystem::path> unfinished_data(const std::filesystem::path& data_folder);

// Has `remove` remove each while nobody can go on with it: what was killed begins anew when it is
// called again. Throws what `remove` throws.
void remove_unfinished_data(const std::filesystem::path& data_folder,
                            const std::function<void(const std::filesystem::path&)>& remove);

// The vocabulary that prepared data bring along: copies in their folder, under names that JSON can
// say.

// Where the data find it, in their folder: one file, or a folder of several.
std::string name_of_kept(const std::vector<std::filesystem::path>& vocabulary);

// Durably. Returns the hashes of the copies. Throws Error.
FileHashes keep_vocabulary(const std::vector<std::filesystem::path>& vocabulary,
                           const std::filesystem::path& folder);

}  // namespace exprun
