#include "control/data/unfinished_data.h"

#include "base/atomic_folder.h"
#include "base/diagnostic.h"
#include "base/file_lock.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// The lock of the --out folder that it would become.
fs::path lock_of_unfinished(const fs::path& folder) {
  return own_lock(committed_folder(folder));
}

std::vector<fs::path> unfinished_folders(const fs::path& data_folder) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(data_folder, ignored))
    if (is_unfinished_folder(entry.path()) && !FileLock::held(lock_of_unfinished(entry.path())))
      folders.push_back(entry.path());
  return folders;
}

}  // namespace

fs::path preparing_lock(const fs::path& data_folder) {
  return data_folder / "prepare.lock";
}

fs::path own_lock(const fs::path& folder) {
  return folder.parent_path() / ("." + folder.filename().string() + ".lock");
}

std::vector<fs::path> unfinished_data(const fs::path& data_folder) {
  if (FileLock::held(preparing_lock(data_folder))) return {};
  return unfinished_folders(data_folder);
}

void remove_unfinished_data(const fs::path& data_folder) {
  if (unfinished_data(data_folder).empty()) return;
  const auto lock = PassingLock::try_take(preparing_lock(data_folder));
  if (!lock) return;
  for (const fs::path& folder : unfinished_folders(data_folder)) {
    const auto own = PassingLock::try_take(lock_of_unfinished(folder));
    if (!own) continue;
    std::error_code error;
    fs::remove_all(folder, error);
    if (error)
      throw Error("gc: cannot remove '" + folder.string() + "': " + error.message() +
                  "; mend that and run exprun gc again");
  }
}

}  // namespace exprun
