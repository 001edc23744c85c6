#include "base/files/atomic_folder.h"

#include <doctest/doctest.h>

#include <chrono>

#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/files/run_folder.h"
#include "base/hash.h"
#include "support/process_counters.h"
#include "support/temporary_folder.h"

using namespace exprun;
namespace fs = std::filesystem;

TEST_CASE("atomic folder: appears whole, with a manifest") {
  const TemporaryFolder folder;
  const fs::path target = folder.path() / "step_1";
  AtomicFolder writing(target);
  fs::create_directories(writing.path() / "deep");
  write_file_atomically(writing.path() / "deep" / "a", "one");
  CHECK_FALSE(fs::exists(target));
  writing.commit();
  CHECK(read_file(target / "deep" / "a") == "one");
  CHECK_FALSE(manifest_problem(target, Verify::hashes));
  CHECK(folder.entries() == 1);
}

TEST_CASE("atomic folder: a file whose hash is known is not read for the manifest") {
  const TemporaryFolder folder;
  AtomicFolder writing(folder.path() / "set");
  write_file_atomically(writing.path() / "a", "one");
  write_file_atomically(writing.path() / "b", "two");
  writing.know({{"a", hash_hex("of the writer")}});
  writing.commit();
  CHECK(manifest_problem(folder.path() / "set", Verify::hashes) ==
        "a has other content than the manifest says");
}

TEST_CASE("atomic folder: an older one is replaced as a whole") {
  const TemporaryFolder folder;
  folder.write("step_1/old", "old");
  {
    AtomicFolder writing(folder.path() / "step_1");
    write_file_atomically(writing.path() / "new", "new");
    writing.commit();
  }
  CHECK(fs::exists(folder.path() / "step_1" / "new"));
  CHECK_FALSE(fs::exists(folder.path() / "step_1" / "old"));
  CHECK(folder.entries() == 1);
}

TEST_CASE("atomic folder: what is put in its place stays where that is refused") {
  const TemporaryFolder folder;
  const fs::path target = folder.path() / "set";
  AtomicFolder writing = AtomicFolder::resumable(target);
  write_file_atomically(writing.path() / "a", "one");
  folder.write("set/thesis.tex", "years");
  CHECK_THROWS_AS(writing.commit("", Existing::refused), FileError);
  CHECK(fs::exists(writing.path() / "a"));
  CHECK(read_file(target / "thesis.tex") == "years");
  fs::remove(target / "thesis.tex");
  writing.commit("", Existing::refused);
  CHECK(read_file(target / "a") == "one");
  CHECK(folder.entries() == 1);
}

TEST_CASE("atomic folder: without commit nothing stays") {
  const TemporaryFolder folder;
  {
    AtomicFolder writing(folder.path() / "step_1");
    write_file_atomically(writing.path() / "a", "x");
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE("atomic folder: what a killed process left is removed, all else is kept") {
  const TemporaryFolder folder;
  folder.write("step_1.tmp-99-0/a", "x");
  folder.write("step_0/a", "x");
  remove_unfinished_folders(folder.path());
  CHECK(folder.entries() == 1);
  CHECK(fs::exists(folder.path() / "step_0" / "a"));
}

TEST_CASE("a link that is replaced by a folder leaves what it led to") {
  const TemporaryFolder folder;
  folder.write("disk/mine", "years");
  fs::create_directory_symlink("disk", folder.path() / "link");
  AtomicFolder target(folder.path() / "link");
  target.commit();
  CHECK(read_file(folder.path() / "disk/mine") == "years");
  CHECK_FALSE(fs::is_symlink(folder.path() / "link"));
}

TEST_CASE("manifest: what is wrong with a folder is said") {
  const TemporaryFolder folder;
  folder.write("a", "four");
  CHECK(manifest_problem(folder.path(), Verify::sizes) == "MANIFEST.json is missing");
  write_file_atomically(folder.path() / kManifestName, manifest_of(folder.path()));
  CHECK_FALSE(manifest_problem(folder.path(), Verify::hashes));

  folder.write("a", "five bytes and more");
  CHECK(manifest_problem(folder.path(), Verify::sizes) == "a has 19 bytes, the manifest says 4");
  folder.write("a", "FOUR");
  CHECK_FALSE(manifest_problem(folder.path(), Verify::sizes));
  CHECK(manifest_problem(folder.path(), Verify::hashes) ==
        "a has other content than the manifest says");
  std::filesystem::remove(folder.path() / "a");
  CHECK(manifest_problem(folder.path(), Verify::sizes) == "a is missing");
  folder.write("MANIFEST.json", "{\"files\": {\"a");
  CHECK(manifest_problem(folder.path(), Verify::sizes) == "MANIFEST.json is damaged");
}

TEST_CASE("manifest: a file that was written after it is read, and once if it is as it was") {
  using namespace std::chrono_literals;
  const TemporaryFolder folder;
  folder.write("a", "four");
  folder.write(kManifestName, manifest_of(folder.path()));
  const fs::path manifest = folder.path() / kManifestName;
  const auto time = fs::last_write_time(manifest) - 1h;
  fs::last_write_time(manifest, time);
  const auto problem_with = [&](const std::string& text, fs::file_time_type written) {
    folder.write("a", text);
    fs::last_write_time(folder.path() / "a", written);
    return manifest_problem(folder.path(), Verify::changed);
  };
  CHECK_FALSE(problem_with("FOUR", time));
  CHECK(problem_with("FOUR", time + 1s) == "a has other content than the manifest says");
  CHECK(problem_with("FOUR", time + 1s) == "a has other content than the manifest says");
  CHECK_FALSE(problem_with("four", time + 2s));
  CHECK(fs::last_write_time(manifest) == time + 2s);
  CHECK_FALSE(problem_with("FOUR", time + 2s));
  CHECK_FALSE(problem_with("four", time + 9h));  // by a clock that is wrong
  CHECK(fs::last_write_time(manifest) == time + 2s);
}

TEST_CASE("manifest: it vouches for files that were written after it once all of them were read") {
  using namespace std::chrono_literals;
  const TemporaryFolder folder;
  folder.write("a", "four");
  folder.write("b", "four");
  folder.write(kManifestName, manifest_of(folder.path()));
  const fs::path manifest = folder.path() / kManifestName;
  const auto time = fs::last_write_time(manifest) - 1h;
  fs::last_write_time(manifest, time);
  fs::last_write_time(folder.path() / "a", time + 1s);
  folder.write("b", "FOUR");
  fs::last_write_time(folder.path() / "b", time + 1s);
  CHECK(manifest_problems(folder.path(), Verify::changed, {"a"}).empty());
  CHECK(fs::last_write_time(manifest) == time);
  CHECK(manifest_problems(folder.path(), Verify::changed, {"a", "b"}).size() == 1);
  folder.write("b", "four");
  fs::last_write_time(folder.path() / "b", time);
  CHECK(manifest_problems(folder.path(), Verify::changed, {"a"}).empty());
  CHECK(fs::last_write_time(manifest) == time + 1s);
}

TEST_CASE("manifest: a file that it does not vouch for is read once") {
  using namespace std::chrono_literals;
  const TemporaryFolder folder;
  folder.write("large", std::string(4 << 20, 'a'));
  folder.write("gone", "four");
  folder.write(kManifestName, manifest_of(folder.path()));
  fs::remove(folder.path() / "gone");
  fs::last_write_time(folder.path() / "large",
                      fs::last_write_time(folder.path() / kManifestName) + 1s);
  CHECK(manifest_problems(folder.path(), Verify::changed).size() == 1);
  const auto before = bytes_touched();
  CHECK(manifest_problems(folder.path(), Verify::changed).size() == 1);
  if (before) CHECK(bytes_touched().value() - *before < 1 << 20);
}

TEST_CASE("manifest: what is wrong with all files of a folder, or with one of them") {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) folder.write(name, "four");
  write_file_atomically(folder.path() / kManifestName, manifest_of(folder.path()));
  folder.write("a", "FOUR");
  std::filesystem::remove(folder.path() / "b");
  folder.write("d", "of others");
  const auto said = [&](const std::set<std::string>& only = {}) {
    std::string text;
    for (const auto& [file, what] : manifest_problems(folder.path(), Verify::hashes, only))
      text += file + " " + what + "\n";
    return text;
  };
  CHECK(said() == "a has other content than the manifest says\nb is missing\n");
  CHECK(said({"a"}) == "a has other content than the manifest says\n");
  CHECK(said({"b"}) == "b is missing\n");
  CHECK(said({"c"}) == "");
  CHECK(said({"d"}) == "");
  std::filesystem::remove(folder.path() / kManifestName);
  CHECK(said({"c"}) == "MANIFEST.json is missing\n");
}

TEST_CASE("run folder: complete checkpoints come newest first, others with the reason") {
  const TemporaryFolder folder;
  for (const char* name : {"step_00000009", "step_00000100", "step_00000020"}) {
    const auto file = folder.write("checkpoints/" + std::string(name) + "/model", "weights");
    write_file_atomically(file.parent_path() / kManifestName, manifest_of(file.parent_path()));
  }
  folder.write("checkpoints/step_00000100/model", "cut");
  folder.write("checkpoints/step_00000200.tmp-1-0/model", "being written");

  std::vector<std::string> skipped;
  const auto found = complete_checkpoints({folder.path()}, &skipped);
  REQUIRE(found.size() == 2);
  CHECK(found[0].step == 20);
  CHECK(found[1].step == 9);
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0] == "step_00000100: model has 3 bytes, the manifest says 7");
  CHECK(complete_checkpoints({folder.path() / "none"}).empty());
  CHECK(checkpoint_name(300) == "step_00000300");
}
