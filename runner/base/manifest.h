// MANIFEST.json: size and XXH3-128 of every file of a folder. It is written last, so a folder
// without a valid manifest does not exist. Checkpoints and prepared data have one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace exprun {

inline constexpr const char* kManifestName = "MANIFEST.json";

// XXH3-128 by a file's name in the folder.
using FileHashes = std::map<std::string, std::string>;

// The text of the folder's manifest, of every regular file below it but the one named `left_out`.
// A file whose hash is not known is read. Throws Error.
std::string manifest_of(const std::filesystem::path& folder, const std::string& left_out = "",
                        const FileHashes& known = {});

// The names, below the folder, that its manifest lists; none without a valid manifest.
std::set<std::string> listed_files(const std::filesystem::path& folder);

enum class Verify { sizes, hashes };

// What is wrong with the folder ("model.safetensors has 12 bytes, the manifest says 40"),
// or nothing.
std::optional<std::string> manifest_problem(const std::filesystem::path& folder, Verify verify);

struct ManifestProblem {
  std::string file;  // its name in the folder
  std::string what;  // behind it: "has other content than the manifest says"
};

// Of all files that it lists, or of the one named `only`; of the manifest itself where that is
// missing or damaged.
std::vector<ManifestProblem> manifest_problems(const std::filesystem::path& folder, Verify verify,
                                               const std::string& only = "");

}  // namespace exprun
