// A folder to put files in.
#pragma once

#include <filesystem>

namespace exprun {

// With those above it; one that is there stays. Throws FileError.
void make_folder(const std::filesystem::path& folder);

}  // namespace exprun
