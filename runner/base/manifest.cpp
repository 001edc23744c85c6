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

struct ListedFile {
  std::string name, hash;
  uintmax_t bytes = 0;
};

bool stays_inside(const fs::path& name) {
  const fs::path normal = name.lexically_normal();
  return !normal.empty() && normal.is_relative() && *normal.begin() != "..";
}

// By name. Nothing for a manifest that no exprun wrote so.
std::optional<std::vector<ListedFile>> read_manifest(const fs::path& folder) try {
  std::vector<ListedFile> files;
  const json manifest = parse_json<json>(read_file(folder / kManifestName));
  for (const auto& [name, file] : manifest.at("files").get_ref<const json::object_t&>()) {
    if (!stays_inside(name) || !file.at("bytes").is_number_unsigned()) return std::nullopt;
    files.push_back(
        {name, file.at("xxh3_128").get<std::string>(), file.at("bytes").get<uintmax_t>()});
  }
  return files;
} catch (const json::exception&) {
  return std::nullopt;
}

// What is wrong with one file.
std::optional<std::string> file_problem(const fs::path& folder, const ListedFile& listed,
                                        Verify verify) {
  const fs::path file = folder / listed.name;
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  if (error) return "is missing";
  if (size != listed.bytes)
    return "has " + std::to_string(size) + " bytes, the manifest says " +
           std::to_string(listed.bytes);
  if (verify == Verify::hashes && hash_file_hex(file) != listed.hash)
    return "has other content than the manifest says";
  return std::nullopt;
}

std::vector<ManifestProblem> problems_of(const fs::path& folder, Verify verify, size_t most,
                                         const std::string& only = "") {
  std::error_code error;
  if (!fs::exists(folder / kManifestName, error)) return {{kManifestName, "is missing"}};
  const auto files = read_manifest(folder);
  if (!files) return {{kManifestName, "is damaged"}};
  std::vector<ManifestProblem> problems;
  for (const ListedFile& listed : *files) {
    if (problems.size() == most) break;
    if (!only.empty() && listed.name != only) continue;
    if (auto what = file_problem(folder, listed, verify)) problems.push_back({listed.name, *what});
  }
  return problems;
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
  if (const auto files = read_manifest(folder))
    for (const ListedFile& listed : *files) names.insert(listed.name);
  return names;
} catch (const Error&) {
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
