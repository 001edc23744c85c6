#include "control/data/sources/missing_file.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

using namespace exprun;

TEST_CASE("missing file: a name that is nearly there is proposed, at any depth") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  folder.write("data/shakespeare.txt", "a text");
  folder.write("data/b.txt", "a text");
  const auto advice = [&](const std::string& path) { return advice_on_file(at + path, {}); };
  const std::string meant = "did you mean \"" + at + "/data/shakespeare.txt\"?";
  CHECK(advice("/data/shakespear.txt") == meant);
  CHECK(advice("/dat/shakespeare.txt") == meant);
  CHECK(advice("/dat/Shakespeare.md") == meant);
  const std::string none = "give the path of a file that exists";
  CHECK(advice("/data/a.txt") == none);
  CHECK(advice("/data/shakespeare.txt/more") == none);
  CHECK(advice_on_pattern(at + "/dat/*.txt", {}) == none);
}

TEST_CASE("missing file: neither a recipe, nor a folder, nor a broken link is proposed") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  folder.write("mydata.toml", "[run]");
  folder.write("texts/a.txt", "a text");
  std::filesystem::create_symlink(at + "/nowhere", at + "/link.txt");
  for (const char* name : {"/mydata.txt", "/texts.txt", "/link.txt"})
    CHECK(advice_on_file(at + name, {}) == "give the path of a file that exists");
}
