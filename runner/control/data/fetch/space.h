// Whether there is room for what is still to be fetched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "control/data/fetch/download.h"

namespace exprun {

// `free` bytes are left in the folder, if the system says so. Of files whose size is not known
// nothing is, of those that are begun the part is there. Throws Error.
void check_space(const std::vector<Download>& downloads, const std::filesystem::path& folder,
                 std::optional<int64_t> free);

}  // namespace exprun
