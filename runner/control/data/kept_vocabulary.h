// The vocabulary that prepared data bring along: copies in their folder, under names that JSON can
// say.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/manifest.h"

namespace exprun {

// Where the data find it, in their folder: one file, or a folder of several.
std::string name_of_kept(const std::vector<std::filesystem::path>& vocabulary);

// Durably. Returns the hashes of the copies. Throws Error.
FileHashes keep_vocabulary(const std::vector<std::filesystem::path>& vocabulary,
                           const std::filesystem::path& folder);

}  // namespace exprun
