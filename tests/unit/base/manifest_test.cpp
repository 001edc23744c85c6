#include "base/manifest.h"

#include <doctest/doctest.h>

#include "base/atomic_file.h"
#include "base/run_folder.h"
#include "support/temporary_folder.h"

using namespace exprun;

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

TEST_CASE("manifest: what is wrong with all files of a folder, or with one of them") {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) folder.write(name, "four");
  write_file_atomically(folder.path() / kManifestName, manifest_of(folder.path()));
  folder.write("a", "FOUR");
  std::filesystem::remove(folder.path() / "b");
  folder.write("d", "of others");
  const auto said = [&](const std::string& only = "") {
    std::string text;
    for (const auto& [file, what] : manifest_problems(folder.path(), Verify::hashes, only))
      text += file + " " + what + "\n";
    return text;
  };
  CHECK(said() == "a has other content than the manifest says\nb is missing\n");
  CHECK(said("a") == "a has other content than the manifest says\n");
  CHECK(said("b") == "b is missing\n");
  CHECK(said("c") == "");
  CHECK(said("d") == "");
  std::filesystem::remove(folder.path() / kManifestName);
  CHECK(said("c") == "MANIFEST.json is missing\n");
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
