// MANIFEST.json: size and XXH3-128 of every file of a folder. It is written last, so a folder
// without a valid manifest does not exist. Checkpoints and prepared data have one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace exprun {

inline constexpr const char* kManifestName = "MANIFEST.json";

// The text of the folder's manifest: every regular file below it is hashed. Throws Error.
std::string manifest_of(const std::filesystem::path& folder);

enum class Verify { sizes, hashes };

// What is wrong with the folder ("model.safetensors has 12 bytes, the manifest says 40"),
// or nothing.
std::optional<std::string> manifest_problem(const std::filesystem::path& folder, Verify verify);

}  // namespace exprun
