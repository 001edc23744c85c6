// --out FOLDER: what exprun data prepare replaces, and what it leaves alone.
#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "control/data/output_directory.h"
#include "control/data/prepared_set.h"
#include "support/temporary_folder.h"
#include "support/text_preparation.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

const std::string kAll = "validation_fraction = 0.0\n";

PrepareOptions in(const fs::path& folder) {
  PrepareOptions options;
  options.folder = folder;
  return options;
}

// What is said of preparing the text "abcd" to folder/mine, the folder's path left out.
std::string said(const TemporaryFolder& folder) {
  const fs::path file = folder.write("abcd.txt", "abcd");
  std::string text;
  try {
    prepare(file, folder.path() / "store", kAll, in(folder.path() / "mine"));
  } catch (const Error& error) {
    text = error.what();
  }
  const std::string shown = folder.path().string() + "/";
  for (size_t at; (at = text.find(shown)) != std::string::npos;) text.erase(at, shown.size());
  return text;
}

// Data of another text in folder/mine.
void prepare_other(const TemporaryFolder& folder) {
  prepare(folder.write("other.txt", "something else"), folder.path() / "store", kAll,
          in(folder.path() / "mine"));
}

std::string train_text(const fs::path& folder) {
  return read_file(folder / "train_000000.bin").substr(1024);
}

const std::string kNotOurs =
    "data: 'mine' already exists and was not made by exprun data prepare; give another folder";
const std::string kBegunByOthers =
    "data: 'mine.partial', where the data would be begun, was not made by exprun data prepare "
    "alone; move it away, or give another folder";
const std::string kAbcd("a\0b\0c\0d\0", 8);

}  // namespace

TEST_CASE("own folder: a set of ours is replaced, whole or damaged, and an empty folder filled") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "mine");
  prepare_other(folder);
  CHECK(said(folder) == "");
  CHECK(train_text(folder.path() / "mine") == kAbcd);
  prepare_other(folder);
  fs::resize_file(folder.path() / "mine/train_000000.bin", 3);
  CHECK(said(folder) == "");
  CHECK(train_text(folder.path() / "mine") == kAbcd);
}

TEST_CASE("own folder: what a user put into a set of ours stays") {
  const TemporaryFolder folder;
  prepare_other(folder);
  folder.write("mine/notes/NOTES.md", "dear");
  CHECK(said(folder) ==
        "data: 'mine' already exists and 'notes/NOTES.md' in it was not made by exprun data "
        "prepare; move that away, or give another folder");
  CHECK(read_file(folder.path() / "mine/notes/NOTES.md") == "dear");
  CHECK(train_text(folder.path() / "mine").size() == 28);
  fs::remove_all(folder.path() / "mine/notes");
  fs::create_symlink("../other.txt", folder.path() / "mine/link");
  CHECK(said(folder) ==
        "data: 'mine' already exists and 'link' in it was not made by exprun data prepare; move "
        "that away, or give another folder");
}

TEST_CASE("own folder: folders that others made stay, whatever is called MANIFEST.json in them") {
  const TemporaryFolder folder;
  folder.write("mine/thesis.tex", "years");
  folder.write("mine/MANIFEST.json", "not ours");
  CHECK(said(folder) == kNotOurs);
  CHECK(read_file(folder.path() / "mine/thesis.tex") == "years");
  fs::remove(folder.path() / "mine/MANIFEST.json");
  folder.write("mine/MANIFEST.json", manifest_of(folder.path() / "mine"));  // as a checkpoint has
  folder.write("mine/thesis.tex", "");
  CHECK(said(folder) == kNotOurs);
  folder.write("mine/data.json", "{}");
  CHECK(said(folder) == kNotOurs);
  fs::remove_all(folder.path() / "mine");
  folder.write("mine", "a file");
  CHECK(said(folder) == kNotOurs);
  CHECK(read_file(folder.path() / "mine") == "a file");
}

TEST_CASE("own folder: a set of ours that has lost what tells it so stays, and that is said") {
  const TemporaryFolder folder;
  prepare_other(folder);
  const std::string rest =
      ", so that it may be the work of others; remove it if you do not need it, or give another "
      "folder";
  const fs::path manifest = folder.path() / "mine/MANIFEST.json";
  const std::string whole = read_file(manifest);
  folder.write("mine/MANIFEST.json", "{");
  CHECK(said(folder) ==
        "data: 'mine' already exists and its MANIFEST.json is missing or damaged" + rest);
  fs::remove(manifest);
  CHECK(said(folder) ==
        "data: 'mine' already exists and its MANIFEST.json is missing or damaged" + rest);
  folder.write("mine/recipe.json", "a run has a data.json too");
  CHECK(said(folder) == kNotOurs);
  fs::remove(folder.path() / "mine/recipe.json");
  folder.write("mine/MANIFEST.json", whole);
  folder.write("mine/data.json", "{}");
  CHECK(said(folder) == "data: 'mine' already exists and its data.json is damaged" + rest);
  CHECK(train_text(folder.path() / "mine").size() == 28);
}

TEST_CASE("own folder: FOLDER.partial is gone on with only where all of it is ours") {
  const TemporaryFolder folder;
  folder.write("mine.partial/thesis.tex", "years");
  CHECK(said(folder) == kBegunByOthers);
  folder.write("mine.partial/progress.json", "{}");
  CHECK(said(folder) == kBegunByOthers);
  CHECK(read_file(folder.path() / "mine.partial/thesis.tex") == "years");
  fs::remove_all(folder.path() / "mine.partial");
  folder.write("mine.partial/train_000000.bin", "of others");
  CHECK(said(folder) == kBegunByOthers);
  for (const char* name : {"progress.json", "validation_000012.bin", "data.json.tmp-1-0",
                           "vocabulary/vocab.bpe", "MANIFEST.json"})
    folder.write(std::string("mine.partial/") + name, "");
  CHECK(said(folder) == "");
  CHECK(train_text(folder.path() / "mine") == kAbcd);
  CHECK_FALSE(fs::exists(folder.path() / "mine.partial"));
}

TEST_CASE("own folder: killed at any place of a commit, the next call goes on") {
  const TemporaryFolder folder;
  const fs::path mine = folder.path() / "mine", partial = folder.path() / "mine.partial";
  CHECK(said(folder) == "");
  fs::rename(mine, partial);  // the manifest is written, the progress not yet removed
  folder.write("mine.partial/progress.json", "{}");
  CHECK(said(folder) == "");
  CHECK(train_text(mine) == kAbcd);
  CHECK_FALSE(fs::exists(mine / "progress.json"));

  for (const char* place : {"mine", "mine.partial"}) {  // an older set, while it is removed
    fs::remove_all(mine);
    prepare_other(folder);
    if (place != mine.filename()) fs::rename(mine, partial);
    fs::remove(folder.path() / place / "data.json");
    CHECK(said(folder) == "");
    CHECK(train_text(mine) == kAbcd);
  }
}

TEST_CASE("own folder: a set that was replaced goes, if its removal was killed, at the next call") {
  const TemporaryFolder folder;
  const fs::path mine = folder.path() / "mine", partial = folder.path() / "mine.partial";
  prepare_other(folder);
  fs::rename(mine, folder.path() / "older");
  CHECK(said(folder) == "");
  fs::copy(folder.path() / "older", partial, fs::copy_options::recursive);
  CHECK(said(folder) == "");
  CHECK_FALSE(fs::exists(partial));

  fs::copy(folder.path() / "older", partial, fs::copy_options::recursive);
  folder.write("mine.partial/notes.md", "dear");  // not ours alone
  CHECK(said(folder) == "");
  CHECK(train_text(partial).size() == 28);
  fs::remove_all(partial);
  folder.write("mine.partial/progress.json", "{}");  // begun, not replaced
  CHECK(said(folder) == "");
  CHECK(fs::exists(partial));
  CHECK(train_text(mine) == kAbcd);
}

TEST_CASE("own folder: what is put there while data are prepared stays, and the data too") {
  const TemporaryFolder folder;
  const fs::path mine = folder.path() / "mine";
  for (const char* name : {"thesis.tex", "data.json"}) {
    folder.write("mine.partial/train_000000.bin", "");
    AtomicFolder target = AtomicFolder::resumable(mine);
    CHECK_THROWS_WITH_AS(target.commit("progress.json",
                                       [&] {
                                         folder.write(std::string("mine/") + name, "years");
                                         refuse_put_there(mine);
                                       }),
                         ("data: '" + mine.string() +
                          "' was put there while the data were prepared; move it away and call "
                          "again: what was prepared is kept in '" +
                          mine.string() + ".partial'")
                             .c_str(),
                         Error);
    CHECK(read_file(mine / name) == "years");
    CHECK(fs::exists(folder.path() / "mine.partial/MANIFEST.json"));
    fs::remove_all(mine);
  }
}

TEST_CASE("own folder: what is put into an older set after the last look at it stays") {
  const TemporaryFolder folder;
  const fs::path mine = folder.path() / "mine", partial = folder.path() / "mine.partial";
  prepare_other(folder);
  AtomicFolder target = AtomicFolder::resumable(mine);
  write_file_atomically(partial / "new", "new");
  fs::copy_file(mine / "data.json", partial / "data.json");
  target.commit("progress.json", [&] {
    refuse_put_there(mine);
    folder.write("mine/notes/NOTES.md", "dear");
    fs::create_symlink("NOTES.md", mine / "notes/link");
    fs::create_directories(mine / "empty/folder");
  });
  CHECK(read_file(mine / "new") == "new");
  CHECK(read_file(partial / "notes/NOTES.md") == "dear");
  CHECK(fs::is_symlink(partial / "notes/link"));
  CHECK(std::distance(fs::recursive_directory_iterator(partial), {}) == 3);
  CHECK(said(folder) == kBegunByOthers);
}

TEST_CASE("own folder: no lock stays beside a set") {
  const TemporaryFolder folder;
  CHECK(said(folder) == "");
  for (const auto& entry : fs::directory_iterator(folder.path()))
    CHECK_FALSE(entry.path().filename().string().starts_with("."));
}

TEST_CASE("own folder: gc leaves what is prepared below a store's data alone") {
  const TemporaryFolder folder;
  const fs::path partial = folder.path() / "mine.partial";
  fs::create_directories(partial);
  auto lock = TransientLock::try_take(own_lock(folder.path() / "mine"));
  CHECK(unfinished_data(folder.path()).empty());
  remove_unfinished_data(folder.path());
  CHECK(fs::exists(partial));
  fs::create_directories(folder.path() / "other.tmp-1-0");
  remove_unfinished_data(folder.path());
  CHECK(fs::exists(partial));
  CHECK_FALSE(fs::exists(folder.path() / "other.tmp-1-0"));
  lock.reset();
  remove_unfinished_data(folder.path());
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("own folder: slashes and links lead to the folder that is meant") {
  const TemporaryFolder folder;
  const fs::path at = fs::canonical(folder.path());
  fs::create_directories(at / "disk");
  fs::create_directory_symlink("disk", at / "link");
  fs::create_directory_symlink("disk/new", at / "dangling");
  CHECK(output_directory(at / "out/") == at / "out");
  CHECK(output_directory(at / "out//") == at / "out");
  CHECK(output_directory(at / "disk/../out/.") == at / "out");
  CHECK(output_directory(at / "link") == at / "disk");
  CHECK(output_directory(at / "link/a/") == at / "disk/a");
  CHECK(output_directory(at / "dangling") == at / "disk/new");
  CHECK(output_directory("out") == fs::current_path() / "out");
  for (const char* whole : {".", "./", "/"})
    CHECK_THROWS_WITH_AS(output_directory(whole),
                         (std::string("data: '") + whole +
                          "' cannot be made anew as a whole, as data are; give a folder in it")
                             .c_str(),
                         Error);
}
