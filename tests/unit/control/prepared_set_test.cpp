#include "control/data/prepared_set.h"

#include <doctest/doctest.h>

#include "base/files/file.h"
#include "base/hash.h"
#include "support/temporary_folder.h"

using namespace exprun;

TEST_CASE("kept vocabulary: copies alone are there, with their hashes") {
  const TemporaryFolder folder;
  const auto merges = folder.write("merges.txt", "a b\n"), ids = folder.write("vocab.json", "{}");
  folder.write("set/vocabulary/encoder.json", "of an earlier preparation");
  const FileHashes hashes = keep_vocabulary({merges, ids}, folder.path() / "set");
  CHECK(hashes == FileHashes{{"vocabulary/merges.txt", hash_hex("a b\n")},
                             {"vocabulary/vocab.json", hash_hex("{}")}});
  for (const auto& [name, hash] : hashes)
    CHECK(hash_hex(read_file(folder.path() / "set" / name)) == hash);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "set/vocabulary/encoder.json"));
  CHECK(name_of_kept({merges, ids}) == "vocabulary");
  CHECK(name_of_kept({ids}) == "vocabulary/vocab.json");
}
