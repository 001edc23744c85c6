#include "control/data/output_directory.h"

#include <optional>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/log.h"
#include "control/data/prepared_set.h"
#include "control/data/tokenize_sources.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel follows

bool is_description(const fs::path& file) try {
  PreparedData::from_json(read_file(file));
  return true;
} catch (const Error&) {
  return false;
}

// The first name below the folder that is not ours; folders are what is in them.
template <class IsOurs>
std::optional<std::string> first_foreign(const fs::path& folder, IsOurs is_ours) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::file_status status = entry.symlink_status();
    const std::string name = entry.path().lexically_relative(folder).generic_string();
    if (!fs::is_directory(status) && !(fs::is_regular_file(status) && is_ours(name))) return name;
  }
  return std::nullopt;
}

// Of a set that a killed process was removing, the manifest is there to the last.
bool is_made_by_us(const fs::path& folder) {
  if (!listed_files(folder).contains(kDataDescription)) return false;
  return !fs::exists(folder / kDataDescription) || is_description(folder / kDataDescription);
}

// "train_000012.bin"
bool is_shard_name(const std::string& name) {
  for (const std::string split : {"train_", "validation_"})
    if (name.starts_with(split) && name.ends_with(".bin"))
      return name.find_first_not_of("0123456789", split.size()) == name.size() - 4;
  return false;
}

// Of a folder that is being filled: files are written under temporary names first.
bool is_name_of_ours(std::string name) {
  name.resize(std::min(name.size(), name.find(".tmp-")));
  return name == kProgressFile || name == kManifestName || name == kDataDescription ||
         is_shard_name(name) || fs::path(name).parent_path() == kVocabularyFolder;
}

bool is_begun_by_us(const fs::path& folder) {
  // Of a set that is being committed, progress and manifest are there at once.
  bool known = is_made_by_us(folder);
  const auto listed = listed_files(folder);
  return !first_foreign(folder, [&](const std::string& name) {
    known |= name.starts_with(kProgressFile);
    return is_name_of_ours(name) || listed.contains(name);
  }) && known;
}

bool is_nothing(const fs::path& path) {
  const fs::file_status status = fs::symlink_status(path);
  return status.type() == fs::file_type::not_found ||
         (fs::is_directory(status) && fs::is_empty(path));
}

// A set of ours in which something is lost cannot be told from what others have put together.
std::string why_not_ours(const fs::path& folder) {
  std::string lost;
  if (fs::is_directory(folder) && !first_foreign(folder, is_name_of_ours)) {
    const fs::path description = folder / kDataDescription;
    if (listed_files(folder).contains(kDataDescription))
      lost = "its data.json is damaged";
    else if (fs::exists(description) && is_description(description))
      lost = "its MANIFEST.json is missing or damaged";
  }
  if (lost.empty()) return "was not made by exprun data prepare; give another folder";
  return lost +
         ", so that it may be the work of others; remove it if you do not need it, or give another "
         "folder";
}

void refuse_made_by_others(const fs::path& folder) {
  const std::string shown = "data: '" + folder.string() + "' already exists and ";
  if (!fs::is_directory(folder) || !is_made_by_us(folder))
    throw Error(shown + why_not_ours(folder));
  if (const auto name = unlisted_file(folder))
    throw Error(shown + "'" + *name +
                "' in it was not made by exprun data prepare; move that away, or give another "
                "folder");
}

void refuse_begun_by_others(const fs::path& partial) {
  if (!fs::is_directory(partial) || !is_begun_by_us(partial))
    throw Error("data: '" + partial.string() +
                "', where the data would be begun, was not made by exprun data prepare alone; move "
                "it away, or give another folder");
}

}  // namespace

std::optional<std::string> unlisted_file(const fs::path& folder) {
  const auto listed = listed_files(folder);
  return first_foreign(folder, [&](const std::string& name) {
    return name == kManifestName || listed.contains(name);
  });
}

fs::path output_directory(const fs::path& written) try {
  fs::path path = fs::absolute(written).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  for (int links = 0; fs::is_symlink(path) && links < kMostLinks; ++links)
    path = path.parent_path() / fs::read_symlink(path);
  path = fs::weakly_canonical(path);
  if (!path.has_filename()) path = path.parent_path();
  if (path == fs::current_path() || path == path.root_path())
    throw Error("data: '" + written.string() +
                "' cannot be made anew as a whole, as data are; give a folder in it");
  return path;
} catch (const fs::filesystem_error& error) {
  throw Error("data: cannot make '" + written.string() + "': " + error.code().message());
}

void refuse_put_there(const fs::path& folder, bool can_be_called_again) try {
  if (is_nothing(folder)) return;
  const auto name = fs::is_directory(folder) && is_made_by_us(folder) ? unlisted_file(folder) : "";
  if (!name) return;
  throw Error("data: " + (name->empty() ? "" : "'" + *name + "' in ") + "'" + folder.string() +
              "' was put there while the data were prepared; move it away" +
              (can_be_called_again ? " and call again: what was prepared is kept in '"
                                   : ": the data are whole in '") +
              partial_folder(folder).string() + "'");
} catch (const fs::filesystem_error& error) {
  throw Error("data: cannot look through '" + folder.string() + "': " + error.code().message());
}

void tell_what_is_replaced(const fs::path& folder) {
  if (is_nothing(folder)) return;
  const auto damage = manifest_problem(folder, Verify::sizes);
  log_info("'" + folder.string() + "' " +
           (damage ? "is damaged (" + *damage + ") and made anew"
                   : "holds other data, which is replaced"));
}

void tell_what_was_kept(const fs::path& folder) {
  const fs::path kept = partial_folder(folder);
  if (is_nothing(kept)) return;
  log_warning("what was put into '" + folder.string() + "' while it was replaced is kept in '" +
              kept.string() + "'");
}

void remove_replaced(const fs::path& folder) try {
  const fs::path left = partial_folder(folder);
  if (!fs::is_directory(left)) return;
  const auto lock = TransientLock::try_take(own_lock(folder));
  if (lock && is_made_by_us(left) && !unlisted_file(left)) remove_known_folder(left);
} catch (const std::runtime_error& error) {
  log(LogLevel::debug, error.what());
}

void refuse_foreign(const fs::path& folder) try {
  if (!is_nothing(folder)) refuse_made_by_others(folder);
  if (!is_nothing(partial_folder(folder))) refuse_begun_by_others(partial_folder(folder));
} catch (const fs::filesystem_error& error) {
  throw Error("data: cannot look through '" + folder.string() + "': " + error.code().message());
}

}  // namespace exprun
