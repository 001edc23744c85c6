#include "base/atomic_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diagnostic.h"
#include "base/manifest.h"
#include "support/temporary_folder.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

int entries(const fs::path& folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

TEST_CASE("atomic file: bytes come back, an old file is replaced, nothing else stays") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a";
  write_file_atomically(file, std::string_view("first\0line", 10));
  CHECK(read_file(file) == std::string("first\0line", 10));
  write_file_atomically(file, "");
  CHECK(read_file(file).empty());
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("atomic file: a relative name is written to the working directory") {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_file_atomically("a", "x");
  fs::current_path(before);
  CHECK(read_file(folder.path() / "a") == "x");
}

TEST_CASE("atomic file: failing leaves no temporary file and says what and why") {
  const TemporaryFolder folder;
  folder.write("target/inside", "");
  const fs::path target = folder.path() / "target";  // a folder cannot be replaced by a file
  CHECK_THROWS_WITH_AS(write_file_atomically(target, "x"),
                       ("file: cannot replace '" + target.string() + "': Is a directory").c_str(),
                       Error);
  CHECK(entries(folder.path()) == 1);
  const fs::path missing = folder.path() / "none" / "a";
  CHECK_THROWS_WITH_AS(
      write_file_atomically(missing, "x"),
      ("file: cannot write '" + missing.string() + "': No such file or directory").c_str(), Error);
}

TEST_CASE("atomic file: what cannot be read is named") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  CHECK_THROWS_WITH_AS(read_file(path),
                       ("file: cannot read '" + path + "': Is a directory").c_str(), Error);
  CHECK_THROWS_WITH_AS(read_file(path + "/none"),
                       ("file: cannot open '" + path + "/none': No such file or directory").c_str(),
                       Error);
}

TEST_CASE("atomic file: files of unknown size are read to their end") {
  CHECK(read_file("/proc/self/status").size() > 100);
}

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
  CHECK(entries(folder.path()) == 1);
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
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("atomic folder: without commit nothing stays") {
  const TemporaryFolder folder;
  {
    AtomicFolder writing(folder.path() / "step_1");
    write_file_atomically(writing.path() / "a", "x");
  }
  CHECK(entries(folder.path()) == 0);
}

TEST_CASE("atomic folder: what a killed process left is removed, all else is kept") {
  const TemporaryFolder folder;
  folder.write("step_1.tmp-99-0/a", "x");
  folder.write("step_0/a", "x");
  remove_unfinished_folders(folder.path());
  CHECK(entries(folder.path()) == 1);
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
