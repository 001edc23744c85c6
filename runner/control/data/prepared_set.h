// A folder of prepared data: data.json, shards, the vocabulary, and the manifest of all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "text/prepared_data.h"

namespace exprun {

// Of a folder that holds a whole set.
std::optional<std::string> fingerprint_of_set(const std::filesystem::path& folder);

// Names within the folder become paths. Throws Error.
PreparedData load_set(const std::filesystem::path& folder);

}  // namespace exprun
