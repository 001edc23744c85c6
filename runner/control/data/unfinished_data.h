// What killed preparations left below a store's data folder. It is not taken where anybody
// prepares: one lock covers all data of a store, and one beside it a folder of the user's own.
#pragma once

#include <filesystem>
#include <vector>

namespace exprun {

std::filesystem::path preparing_lock(const std::filesystem::path& data_folder);

std::filesystem::path own_lock(const std::filesystem::path& folder);

// Folders that nobody goes on with now; none while the store's data are being prepared.
std::vector<std::filesystem::path> unfinished_data(const std::filesystem::path& data_folder);

// Removes them: what was killed begins anew when it is called again. Throws Error.
void remove_unfinished_data(const std::filesystem::path& data_folder);

}  // namespace exprun
