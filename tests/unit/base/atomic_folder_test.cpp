#include "base/atomic_folder.h"

#include <doctest/doctest.h>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/manifest.h"
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
