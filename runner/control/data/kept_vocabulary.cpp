#include "control/data/kept_vocabulary.h"

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/make_folder.h"
#include "base/utf8.h"
#include "control/data/own_folder.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

std::string name_of_copy(const fs::path& file) {
  return std::string(kVocabularyFolder) + "/" + to_valid_utf8(file.filename().string());
}

}  // namespace

std::string name_of_kept(const std::vector<fs::path>& vocabulary) {
  return vocabulary.size() == 1 ? name_of_copy(vocabulary[0]) : kVocabularyFolder;
}

FileHashes keep_vocabulary(const std::vector<fs::path>& vocabulary, const fs::path& folder) {
  FileHashes hashes;
  std::error_code ignored;
  fs::remove_all(folder / kVocabularyFolder, ignored);  // of an earlier life, under other names
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
