#include "base/files/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

using namespace exprun;
namespace fs = std::filesystem;

TEST_CASE("atomic file: bytes come back, an old file is replaced, nothing else stays") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a";
  write_file_atomically(file, std::string_view("first\0line", 10));
  CHECK(read_file(file) == std::string("first\0line", 10));
  write_file_atomically(file, "");
  CHECK(read_file(file).empty());
  CHECK(folder.entries() == 1);
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
  CHECK(folder.entries() == 1);
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

TEST_CASE("mapped file: bytes are the file's, and survive a move") {
  const TemporaryFolder folder;
  MappedFile first(folder.write("a", "hello"));
  const MappedFile second(std::move(first));
  REQUIRE(second.bytes().size() == 5);
  CHECK(std::memcmp(second.bytes().data(), "hello", 5) == 0);
  CHECK(first.bytes().empty());
}

TEST_CASE("mapped file: an empty file is an empty span; a folder and a missing file are errors") {
  const TemporaryFolder folder;
  CHECK(MappedFile(folder.write("a", "")).bytes().empty());
  const std::string path = folder.path().string();
  CHECK_THROWS_WITH_AS(MappedFile{path},
                       ("file: cannot map '" + path + "': Is a directory").c_str(), Error);
  CHECK_THROWS_WITH_AS(MappedFile{path + "/none"},
                       ("file: cannot open '" + path + "/none': No such file or directory").c_str(),
                       Error);
}
