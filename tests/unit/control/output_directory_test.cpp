// --out DIR: where exprun data prepare writes, and what it leaves alone.
#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "control/data/prepared_set.h"
#include "support/temporary_folder.h"
#include "support/text_preparation.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

// What is said of preparing the text "abcd" to `out`, folder/mine unless it is given; the folder's
// path left out.
std::string said(const TemporaryFolder& folder, const fs::path& out = "mine") {
  const fs::path file = folder.write("abcd.txt", "abcd");
  PrepareOptions options;
  options.folder = folder.path() / out;
  std::string text;
  try {
    prepare(file, folder.path() / "store", "validation_fraction = 0.0\n", options);
  } catch (const Error& error) {
    text = error.what();
  }
  const std::string shown = folder.path().string() + "/";
  for (size_t at; (at = text.find(shown)) != std::string::npos;) text.erase(at, shown.size());
  return text;
}

std::string train_text(const fs::path& folder) {
  return read_file(folder / "train_000000.bin").substr(1024);
}

const std::string kOtherContent =
    "data: 'mine' exists and does not hold this data; move it away, or give a new or empty folder";
const std::string kNotUnfinished =
    "data: 'mine.partial', where the data would be prepared, exists and is not an unfinished "
    "preparation; move it away, or give another folder";
const std::string kAbcd("a\0b\0c\0d\0", 8);

}  // namespace

TEST_CASE("output directory: an empty folder is filled, and all that holds anything else stays") {
  const TemporaryFolder folder;
  const fs::path mine = folder.path() / "mine";
  fs::create_directories(mine);
  CHECK(said(folder) == "");
  CHECK(train_text(mine) == kAbcd);
  CHECK(said(folder) == "");  // it holds this data
  fs::resize_file(mine / "train_000000.bin", 3);
  CHECK(said(folder) ==
        "data: the prepared data in 'mine' is damaged (train_000000.bin has 3 bytes, the manifest "
        "says 1032); move it away, or give a new or empty folder");
  CHECK(fs::file_size(mine / "train_000000.bin") == 3);
  fs::remove_all(mine);
  folder.write("mine/thesis.tex", "years");
  CHECK(said(folder) == kOtherContent);
  CHECK(read_file(mine / "thesis.tex") == "years");
  fs::remove_all(mine);
  folder.write("mine", "a file");
  CHECK(said(folder) == kOtherContent);
  CHECK(read_file(mine) == "a file");
}

TEST_CASE("output directory: DIR.partial is continued only where it was begun") {
  const TemporaryFolder folder;
  folder.write("mine.partial/thesis.tex", "years");
  CHECK(said(folder) == kNotUnfinished);
  CHECK(read_file(folder.path() / "mine.partial/thesis.tex") == "years");
  fs::remove(folder.path() / "mine.partial/thesis.tex");
  for (const char* name : {"progress.json", "train_000000.bin", "MANIFEST.json"})
    folder.write(std::string("mine.partial/") + name, "{}");
  CHECK(said(folder) == "");
  CHECK(train_text(folder.path() / "mine") == kAbcd);
  CHECK_FALSE(fs::exists(folder.path() / "mine.partial"));
}

TEST_CASE("output directory: killed while the manifest was there and the progress too") {
  const TemporaryFolder folder;
  const fs::path mine = folder.path() / "mine", partial = folder.path() / "mine.partial";
  CHECK(said(folder) == "");
  fs::rename(mine, partial);
  folder.write("mine.partial/progress.json", "{}");
  CHECK(said(folder) == "");
  CHECK(train_text(mine) == kAbcd);
  CHECK_FALSE(fs::exists(mine / "progress.json"));
}

TEST_CASE("output directory: no lock stays beside a set") {
  const TemporaryFolder folder;
  CHECK(said(folder) == "");
  for (const auto& entry : fs::directory_iterator(folder.path()))
    CHECK_FALSE(entry.path().filename().string().starts_with("."));
}

TEST_CASE("output directory: gc leaves what is prepared below a store's data alone") {
  const TemporaryFolder folder;
  const fs::path partial = folder.path() / "mine.partial";
  fs::create_directories(partial);
  auto lock = TransientLock::try_take(own_lock(folder.path() / "mine"));
  const auto remove_unfinished = [&] {
    remove_unfinished_data(folder.path(), [](const fs::path& data) { fs::remove_all(data); });
  };
  CHECK(unfinished_data(folder.path()).empty());
  remove_unfinished();
  CHECK(fs::exists(partial));
  fs::create_directories(folder.path() / "other.tmp-1-0");
  remove_unfinished();
  CHECK(fs::exists(partial));
  CHECK_FALSE(fs::exists(folder.path() / "other.tmp-1-0"));
  lock.reset();
  remove_unfinished();
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("output directory: slashes and links lead to the folder that is meant") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "disk");
  fs::create_directory_symlink("disk", folder.path() / "link");
  for (const char* written : {"out/", "out//", "disk/../out/.", "link/a/", "link/a"})
    CHECK(said(folder, written) == "");
  CHECK(train_text(folder.path() / "out") == kAbcd);
  CHECK(train_text(folder.path() / "disk/a") == kAbcd);
  CHECK(said(folder, fs::current_path()) == "data: '" + fs::current_path().string() +
                                                "' is the working directory; give a folder in it");
}
