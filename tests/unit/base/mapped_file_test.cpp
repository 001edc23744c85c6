#include "base/mapped_file.h"

#include <doctest/doctest.h>

#include <cstring>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

using namespace exprun;

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
