#include "base/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/hash.h"
#include "base/json_text.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).generic_string();
    if (entry.is_regular_file() && name != kManifestName) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

json describe(const fs::path& folder) {
  json files = json::object();
  for (const std::string& name : files_below(folder))
    files[name] = {{"bytes", fs::file_size(folder / name)},
                   {"xxh3_128", hash_file_hex(folder / name)}};
  return files;
}

// What is wrong with one file that the manifest lists.
std::optional<std::string> file_problem(const fs::path& folder, const std::string& name,
                                        const json& listed, Verify verify) {
  std::error_code error;
  const uintmax_t size = fs::file_size(folder / name, error);
  if (error) return name + " is missing";
  const auto expected = listed.at("bytes").get<uintmax_t>();
  if (size != expected)
    return name + " has " + std::to_string(size) + " bytes, the manifest says " +
           std::to_string(expected);
  if (verify == Verify::hashes &&
      hash_file_hex(folder / name) != listed.at("xxh3_128").get<std::string>())
    return name + " has other content than the manifest says";
  return std::nullopt;
}

}  // namespace

std::string manifest_of(const fs::path& folder) try {
  const json manifest = {{"version", 1}, {"files", describe(folder)}};
  return json_text(manifest, 2) + "\n";
} catch (const fs::filesystem_error& error) {
  throw Error("manifest: cannot list '" + folder.string() + "': " + error.code().message());
}

std::optional<std::string> manifest_problem(const fs::path& folder, Verify verify) {
  std::error_code error;
  if (!fs::exists(folder / kManifestName, error)) return std::string(kManifestName) + " is missing";
  try {
    const json manifest = parse_json<json>(read_file(folder / kManifestName));
    for (const auto& [name, listed] : manifest.at("files").items())
      if (auto problem = file_problem(folder, name, listed, verify)) return problem;
    return std::nullopt;
  } catch (const json::exception&) {
    return std::string(kManifestName) + " is damaged";
  } catch (const Error& unreadable) {
    return unreadable.what();
  }
}

}  // namespace exprun
