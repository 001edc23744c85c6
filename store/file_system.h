// Where a store lies: on a disk of this machine, or on one that other machines share.
#pragma once

#include <filesystem>
#include <string>

namespace exprun {

// "nfs", "lustre", "fuse", ...; empty for a local file system or one that cannot be asked.
std::string network_file_system(const std::filesystem::path& folder);

}  // namespace exprun
