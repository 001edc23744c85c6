#include "base/files/atomic_folder.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/file.h"
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

// Of a file that its manifest does not vouch for, maybe at each of many looks.
std::string hash_read_once(const fs::path& file, fs::file_time_type written) {
  static std::mutex mutex;
  static std::map<fs::path, std::pair<fs::file_time_type, std::string>> known;
  const std::lock_guard lock(mutex);
  auto& [time, hash] = known[fs::absolute(file)];
  if (hash.empty() || time != written) {
    hash = hash_file_hex(file);
    time = written;
  }
  return hash;
}

// What is wrong with one file, with its hash too where that is asked for.
std::optional<std::string> file_problem(const fs::path& folder, const ListedFile& listed,
                                        const std::function<std::string()>& hash) {
  const fs::path file = folder / listed.name;
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  if (error) return "is missing";
  if (size != listed.bytes)
    return "has " + std::to_string(size) + " bytes, the manifest says " +
           std::to_string(listed.bytes);
  if (hash && hash() != listed.hash) return "has other content than the manifest says";
  return std::nullopt;
}

fs::file_time_type written_at(const fs::path& file) {
  std::error_code missing;
  const auto time = fs::last_write_time(file, missing);
  return missing ? fs::file_time_type::min() : time;
}

std::vector<ManifestProblem> problems_of(const fs::path& folder, Verify verify, size_t most,
                                         const std::set<std::string>& only = {}) {
  std::error_code error;
  const fs::path manifest = folder / kManifestName;
  if (!fs::exists(manifest, error)) return {{kManifestName, "is missing"}};
  const auto files = read_manifest(folder);
  if (!files) return {{kManifestName, "is damaged"}};
  std::vector<ManifestProblem> problems;
  const auto compared = written_at(manifest);
  auto newest = compared;
  bool is_left_out = false;  // a file that the manifest does not vouch for
  for (const ListedFile& listed : *files) {
    if (problems.size() == most) break;
    const fs::path file = folder / listed.name;
    const auto written = written_at(file);
    const bool is_changed = verify == Verify::changed && written > compared;
    if (!only.empty() && !only.contains(listed.name)) {
      is_left_out |= is_changed;
      continue;
    }
    if (is_changed) newest = std::max(newest, written);
    std::function<std::string()> hash;
    if (verify == Verify::hashes) hash = [&] { return hash_file_hex(file); };
    if (is_changed) hash = [&] { return hash_read_once(file, written); };
    if (auto what = file_problem(folder, listed, hash)) problems.push_back({listed.name, *what});
  }
  // Of a time to come edits until then would go unseen. In a folder of others it is in vain.
  const bool has_come = newest <= fs::file_time_type::clock::now();
  if (newest > compared && has_come && problems.empty() && !is_left_out)
    fs::last_write_time(manifest, newest, error);
  return problems;
}

constexpr const char* kPartial = ".partial";

std::string name_in(const fs::path& folder, const fs::path& file) {
  return file.lexically_relative(folder).generic_string();
}

// But for `progress`, which goes.
void sync_folder_content(const fs::path& folder, const std::string& progress,
                         const FileHashes& durable) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = name_in(folder, entry.path());
    const bool is_done = name == progress || durable.contains(name);
    if (entry.is_directory() || (entry.is_regular_file() && !is_done)) sync_file(entry.path());
  }
}

// Moves `from` to `to`, and removes an older folder at `to`: first where the file system cannot
// exchange two names.
void replace_folder(const fs::path& from, const fs::path& to) {
  const bool is_new = ::rename(from.c_str(), to.c_str()) == 0;
  if (!is_new && errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
    throw file_error("make", to);
  if (is_new || ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    sync_file(folder_of(to));
    return remove_known_folder(from);
  }
  remove_known_folder(to);
  if (::rename(from.c_str(), to.c_str()) != 0) throw file_error("replace", to);
  sync_file(folder_of(to));
}

// The rename itself fails where `to` is anything but an empty folder.
void move_to_new(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const FileError failed = file_error("make", to);
    throw FileError(std::string(failed.what()) + "; it is complete in '" + from.string() + "'");
  }
  sync_file(folder_of(to));
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
                                               const std::set<std::string>& only) {
  return problems_of(folder, verify, SIZE_MAX, only);
}

AtomicFolder::AtomicFolder(fs::path target, fs::path temporary, bool stays)
    : target_(std::move(target)), temporary_(std::move(temporary)), stays_(stays) {
  make_folder(temporary_);
}

AtomicFolder::AtomicFolder(fs::path target) : AtomicFolder(target, temporary_name(target), false) {}

AtomicFolder AtomicFolder::resumable(fs::path target) {
  return AtomicFolder(target, partial_folder(target), true);
}

fs::path partial_folder(const fs::path& target) {
  return target.string() + kPartial;
}

bool is_unfinished_folder(const fs::path& folder) {
  return folder.filename().string().ends_with(kPartial) || is_temporary(folder);
}

fs::path committed_folder(const fs::path& unfinished) {
  std::string name = unfinished.filename().string();
  name.resize(std::min(name.size(), name.rfind(kTemporary)));
  if (name.ends_with(kPartial)) name.resize(name.rfind(kPartial));
  return unfinished.parent_path() / name;
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!stays_) fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit(const std::string& progress, Existing existing) {
  // The disk writes while the hashes are computed; the manifest itself is written after both.
  // Or after them, where no thread can be had.
  auto synced = std::async(sync_folder_content, temporary_, progress, std::cref(known_));
  const std::string manifest = manifest_of(temporary_, progress, known_);
  synced.get();
  write_file_atomically(temporary_ / kManifestName, manifest);
  std::error_code ignored;
  if (!progress.empty()) fs::remove(temporary_ / progress, ignored);
  sync_file(temporary_);
  existing == Existing::refused ? move_to_new(temporary_, target_)
                                : replace_folder(temporary_, target_);
  stays_ = true;
}

void remove_known_folder(const fs::path& folder, const std::string& known_by) {
  std::error_code ignored;
  if (fs::is_symlink(folder)) fs::remove(folder, ignored);  // not what it leads to
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name != kManifestName && name != known_by) fs::remove_all(entry.path(), ignored);
  }
  fs::remove_all(folder, ignored);
}

void remove_unfinished_folders(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored))
    if (is_temporary(entry.path())) fs::remove_all(entry.path(), ignored);
}

}  // namespace exprun
