#include "control/data/sources/sources.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/temporary_folder.h"

using namespace exprun;
namespace fs = std::filesystem;

TEST_CASE("glob: names, folders at any depth, sorted, hidden files left out") {
  const TemporaryFolder folder;
  for (const char* name :
       {"b/two.h", "b/c/three.h", "one.h", "b/four.cpp", ".git/five.h", "b/.six.h", "b-2/seven.h"})
    folder.write(name, "");
  fs::create_directory_symlink(folder.path(), folder.path() / "b" / "loop");
  const auto match = [&](const std::string& pattern) {
    std::vector<std::string> names;
    for (const fs::path& file : matching_files((folder.path() / pattern).string()))
      names.push_back(fs::relative(file, folder.path()).string());
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(match("**/*.h") == Names{"b-2/seven.h", "b/c/three.h", "b/two.h", "one.h"});
  CHECK(match("*.h") == Names{"one.h"});
  CHECK(match("b/**") == Names{"b/c/three.h", "b/four.cpp", "b/two.h"});
  CHECK(match("?/[st]*.h") == Names{"b/two.h"});
  CHECK(match("b/**/c/*") == Names{"b/c/three.h"});
  CHECK(match("none/**/*.h").empty());
}

TEST_CASE("glob: nothing that exprun wrote is taken for data") {
  const TemporaryFolder folder;
  for (const char* name : {"a.txt", "recipe.schema.json", "runs/exprun.db", "runs/exprun.db.lock",
                           "runs/mine-1a2b3c4d/samples/step_00000010.txt", "set/MANIFEST.json",
                           "set/data.json", "set/train_000000.bin"})
    folder.write(name, "");
  const auto match = [&](const std::string& pattern, const std::string& dataset) {
    std::vector<std::string> names;
    for (const fs::path& file : matching_files((folder.path() / pattern).string(), dataset))
      names.push_back(fs::relative(file, folder.path()).string());
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(match("**", "text") == Names{"a.txt"});
  CHECK(match("*.json", "instruction").empty());
  CHECK(match("**/*.bin", "token_shards") == Names{"set/train_000000.bin"});
  CHECK(match("set/**/*.bin", "text") == Names{"set/train_000000.bin"});  // where it is named
  CHECK(match("runs/**/*.txt", "text") == Names{"runs/mine-1a2b3c4d/samples/step_00000010.txt"});
}
