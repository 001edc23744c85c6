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
    const std::string name = entry.path().lexically_relative(folder).generic_string();
    if (entry.is_regular_file() && name != kManifestName) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

json describe(const fs::path& folder, const std::string& left_out, const FileHashes& known) {
  json files = json::object();
  for (const std::string& name : files_below(folder)) {
    if (name == left_out) continue;
    const auto hash = known.find(name);
    files[name] = {{"bytes", fs::file_size(folder / name)},
                   {"xxh3_128", hash == known.end() ? hash_file_hex(folder / name) : hash->second}};
  }
  return files;
}

// What is wrong with one file that the manifest lists.
std::optional<std::string> file_problem(const fs::path& file, const json& listed, Verify verify) {
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  if (error) return "is missing";
  const auto expected = listed.at("bytes").get<uintmax_t>();
  if (size != expected)
    return "has " + std::to_string(size) + " bytes, the manifest says " + std::to_string(expected);
  if (verify == Verify::hashes && hash_file_hex(file) != listed.at("xxh3_128").get<std::string>())
    return "has other content than the manifest says";
  return std::nullopt;
}

std::vector<ManifestProblem> problems_of(const fs::path& folder, Verify verify, size_t most,
                                         const std::string& only = "") {
  std::error_code error;
  if (!fs::exists(folder / kManifestName, error)) return {{kManifestName, "is missing"}};
  try {
    std::vector<ManifestProblem> problems;
    const json manifest = parse_json<json>(read_file(folder / kManifestName));
    for (const auto& [name, listed] : manifest.at("files").items()) {
      if (problems.size() == most) break;
      if (!only.empty() && name != only) continue;
      if (auto what = file_problem(folder / name, listed, verify))
        problems.push_back({name, *what});
    }
    return problems;
  } catch (const json::exception&) {
    return {{kManifestName, "is damaged"}};
  }
}

}  // namespace

std::string manifest_of(const fs::path& folder, const std::string& left_out,
                        const FileHashes& known) try {
  const json manifest = {{"version", 1}, {"files", describe(folder, left_out, known)}};
  return json_text(manifest, 2) + "\n";
} catch (const fs::filesystem_error& error) {
  throw Error("manifest: cannot list '" + folder.string() + "': " + error.code().message());
}

std::set<std::string> listed_files(const fs::path& folder) try {
  std::set<std::string> names;
  const json manifest = parse_json<json>(read_file(folder / kManifestName));
  for (const auto& [name, listed] : manifest.at("files").items()) names.insert(name);
  return names;
} catch (const std::exception&) {
  return {};
}

std::optional<std::string> manifest_problem(const fs::path& folder, Verify verify) try {
  const auto problems = problems_of(folder, verify, 1);
  if (problems.empty()) return std::nullopt;
  return problems[0].file + " " + problems[0].what;
} catch (const Error& unreadable) {
  return unreadable.what();
}

std::vector<ManifestProblem> manifest_problems(const fs::path& folder, Verify verify,
                                               const std::string& only) {
  return problems_of(folder, verify, SIZE_MAX, only);
}

}  // namespace exprun
