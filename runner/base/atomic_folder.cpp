#include "base/atomic_folder.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <future>
#include <system_error>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/file_error.h"
#include "base/make_folder.h"
#include "base/temporary_name.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

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

void remove_folder(const fs::path& folder) {
  remove_known_folder(folder);
}

// Only what its manifest lists, the manifest last; folders are what is in them.
void remove_listed_files(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_symlink(folder, ignored)) return;
  const auto listed = listed_files(folder);
  std::vector<fs::path> ours;  // each folder before what is in it
  for (fs::recursive_directory_iterator at(folder, ignored), end; at != end;
       at.increment(ignored)) {
    const fs::file_status status = at->symlink_status(ignored);
    const bool is_listed = listed.contains(name_in(folder, at->path()));
    if (fs::is_directory(status) || (fs::is_regular_file(status) && is_listed))
      ours.push_back(at->path());
  }
  for (; !ours.empty(); ours.pop_back()) fs::remove(ours.back(), ignored);
  fs::remove(folder / kManifestName, ignored);
  fs::remove(folder, ignored);
}

using Remove = void(const fs::path& folder);

// Moves `from` to `to`, and removes an older folder at `to`: first where the file system cannot
// exchange two names.
void replace_folder(const fs::path& from, const fs::path& to, Remove remove) {
  const bool is_new = ::rename(from.c_str(), to.c_str()) == 0;
  if (!is_new && errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
    throw file_error("make", to);
  if (is_new || ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    sync_file(folder_of(to));
    return remove(from);
  }
  remove(to);
  if (::rename(from.c_str(), to.c_str()) != 0) throw file_error("replace", to);
  sync_file(folder_of(to));
}

}  // namespace

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

void AtomicFolder::commit(const std::string& progress, const std::function<void()>& check) {
  // The disk writes while the hashes are computed; the manifest itself is written after both.
  // Or after them, where no thread can be had.
  auto synced = std::async(sync_folder_content, temporary_, progress, std::cref(known_));
  const std::string manifest = manifest_of(temporary_, progress, known_);
  synced.get();
  write_file_atomically(temporary_ / kManifestName, manifest);
  std::error_code ignored;
  if (!progress.empty()) fs::remove(temporary_ / progress, ignored);
  sync_file(temporary_);
  if (check) check();
  replace_folder(temporary_, target_, check ? remove_listed_files : remove_folder);
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
