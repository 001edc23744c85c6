// A folder of prepared data: data.json, shards, the vocabulary, and the manifest of all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "text/prepared_data.h"

namespace exprun {

// What a folder that holds a whole set says of it, names left as they are.
std::optional<PreparedData> described_set(const std::filesystem::path& folder);

// Names within the folder become paths. Throws Error.
PreparedData load_set(const std::filesystem::path& folder);

// What is to be done about a folder whose description or manifest is damaged.
std::string how_to_prepare_again(const std::filesystem::path& folder);

}  // namespace exprun
