#include "control/data/prepared_set.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/hash.h"
#include "base/utf8.h"

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

std::string name_of_copy(const fs::path& file) {
  return std::string(kVocabularyFolder) + "/" + to_valid_utf8(file.filename().string());
}

}  // namespace

std::optional<PreparedData> described_set(const fs::path& folder) {
  if (manifest_problem(folder, Verify::changed)) return std::nullopt;
  return unverified_set(folder);
}

std::optional<PreparedData> unverified_set(const fs::path& folder) try {
  return PreparedData::from_json(read_file(folder / kDataDescription));
} catch (const Error&) {  // damaged
  return std::nullopt;
}

PreparedData load_set(const fs::path& folder) {
  return PreparedData::load(folder / kDataDescription, how_to_prepare_again(folder));
}

std::set<fs::path> folders_of(const PreparedData& data) {
  std::set<fs::path> folders;
  for (const auto* shards : {&data.train, &data.validation})
    for (const TokenShard& shard : *shards) folders.insert(fs::path(shard.path).parent_path());
  return folders;
}

std::string how_to_prepare_again(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  return "move '" + (error ? folder : whole).string() +
         "' away and prepare the data again, with exprun data prepare or by a run of the recipe";
}

fs::path preparing_lock(const fs::path& data_folder) {
  return data_folder / "prepare.lock";
}

fs::path own_lock(const fs::path& folder) {
  return folder.parent_path() / ("." + folder.filename().string() + ".lock");
}

std::vector<fs::path> prepared_sets(const fs::path& data_folder) {
  std::vector<fs::path> sets;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(data_folder, ignored))
    if (entry.is_directory(ignored) && !is_unfinished_folder(entry.path()) &&
        fs::exists(entry.path() / kDataDescription, ignored))
      sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  return sets;
}

std::vector<fs::path> unfinished_data(const fs::path& data_folder) {
  if (FileLock::held(preparing_lock(data_folder))) return {};
  return unfinished_folders(data_folder);
}

void remove_unfinished_data(const fs::path& data_folder,
                            const std::function<void(const fs::path&)>& remove) {
  if (unfinished_data(data_folder).empty()) return;
  const auto lock = TransientLock::try_take(preparing_lock(data_folder));
  if (!lock) return;
  for (const fs::path& folder : unfinished_folders(data_folder)) {
    const auto own = TransientLock::try_take(lock_of_unfinished(folder));
    if (own) remove(folder);
  }
}

std::string name_of_kept(const std::vector<fs::path>& vocabulary) {
  return vocabulary.size() == 1 ? name_of_copy(vocabulary[0]) : kVocabularyFolder;
}

FileHashes keep_vocabulary(const std::vector<fs::path>& vocabulary, const fs::path& folder) {
  FileHashes hashes;
  std::error_code ignored;
  // Of an earlier preparation, under other names.
  fs::remove_all(folder / kVocabularyFolder, ignored);
  make_folder(folder / kVocabularyFolder);
  for (const fs::path& file : vocabulary) {
    const std::string name = name_of_copy(file), bytes = read_file(file);
    write_file(folder / name, bytes);
    sync_file(folder / name);
    hashes[name] = hash_hex(bytes);
  }
  return hashes;
}

}  // namespace exprun
