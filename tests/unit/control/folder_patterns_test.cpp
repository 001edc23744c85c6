#include "control/data/sources/folder_patterns.h"

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"
#include "text/token_shard.h"

namespace exprun {
namespace {

// Patterns without the folder.
std::string named_in(const TemporaryFolder& folder, const WantedFiles& wanted) {
  std::string text;
  for (const std::string& pattern : folder_patterns(folder.path(), wanted))
    text += (text.empty() ? "" : " ") + pattern.substr(folder.path().native().size() + 1);
  return text;
}

std::string header() {
  std::string bytes(1024, '\0');
  bytes.replace(0, sizeof kShardMagic, reinterpret_cast<const char*>(&kShardMagic),
                sizeof kShardMagic);
  return bytes;
}

const WantedFiles kTrain{"token_shards", Split::train}, kVal{"token_shards", Split::validation};

}  // namespace

TEST_CASE("folder patterns: shards of the wanted split, by number") {
  const TemporaryFolder folder;
  for (const char* name : {"fineweb_train_000001.bin", "fineweb_train_000002.bin", ".hidden.bin",
                           "fineweb_val_000000.bin", "data.json"})
    folder.write(name, header());
  CHECK(named_in(folder, kTrain) == "fineweb_train_*.bin");
  CHECK(named_in(folder, kVal) == "fineweb_val_*.bin");
}

TEST_CASE("folder patterns: a number is no pattern that the other split matches too") {
  const TemporaryFolder folder;
  for (const char* name : {"000.bin", "001.bin", "val_000.bin", "val_001.bin"})
    folder.write(name, header());
  CHECK(named_in(folder, kTrain) == "000.bin 001.bin");
  CHECK(named_in(folder, kVal) == "val_*.bin");
}

TEST_CASE("folder patterns: a bracket in a name is only a bracket") {
  const TemporaryFolder folder;
  folder.write("runs[1]/a.txt", "a text");
  folder.write("shards[1]/train_1.bin", header());
  const std::string at = folder.path().string();
  CHECK(folder_patterns(folder.path() / "runs[1]", {}) ==
        std::vector<std::string>{at + "/runs\\[1]/**"});
  CHECK(folder_patterns(folder.path() / "shards[1]", kTrain) ==
        std::vector<std::string>{at + "/shards\\[1]/train_*.bin"});
}

TEST_CASE("folder patterns: many that no number tells apart are all shards") {
  const TemporaryFolder folder;
  for (const char* name : {"a.bin", "b.bin", "c.bin", "d.bin"}) folder.write(name, header());
  CHECK(named_in(folder, kTrain) == "a.bin b.bin c.bin d.bin");
  folder.write("e.bin", header());
  CHECK(named_in(folder, kTrain) == "*.bin");
  CHECK(named_in(folder, kVal) == "");
  CHECK(how_to_name_files_in(folder.path(), kVal) ==
        "it has no token shards for validation: none has \"val\" in its name");
}

TEST_CASE("folder patterns: texts, without what else lies there") {
  const TemporaryFolder folder;
  CHECK(how_to_name_files_in(folder.path(), {}) == "it has no text files");
  folder.write("records.json", "[]");
  CHECK(named_in(folder, {}) == "**");
  std::filesystem::remove(folder.path() / "records.json");
  folder.write("a.md", "a text");
  folder.write("deeper/b.txt", "a text");
  folder.write(".git/c.png", std::string(10, '\0'));
  CHECK(named_in(folder, {}) == "**");
  folder.write("deeper/picture.png", std::string(10, '\0'));
  CHECK(named_in(folder, {}) == "**/*.md **/*.txt");
  folder.write("c.md", std::string(10, '\0'));
  CHECK(named_in(folder, {}) == "**/*.txt");
  CHECK(named_in(folder, {"instruction"}) == "");
  folder.write("examples.jsonl", "{}");
  CHECK(named_in(folder, {}) == "**/*.txt");
  CHECK(named_in(folder, {"instruction"}) == "**/*.jsonl");
}

TEST_CASE("folder patterns: one file of no use does not hide the texts beside it") {
  const TemporaryFolder folder;
  folder.write("notes.txt", "\xff\xfe" + std::string("n\0o\0", 4));
  CHECK(named_in(folder, {}) == "");
  for (const char* name : {"a.txt", "b.txt", "deeper/c.txt", "[d].txt"})
    folder.write(name, "a text");
  CHECK(named_in(folder, {}) == "\\[d].txt a.txt b.txt deeper/c.txt");
  folder.write("e.txt", "a text");
  CHECK(named_in(folder, {}) == "**/*.txt");
  folder.write("records.jsonl", "{}");
  CHECK(named_in(folder, {}) == "**/*.jsonl");
}

TEST_CASE("folder patterns: JSON that is no array of records is none") {
  const TemporaryFolder folder;
  folder.write("config.json", "{\"text\": 1}");
  CHECK(named_in(folder, {"instruction"}) == "");
  folder.write("data.json", "[{\"text\": \"a\"}]");
  CHECK(named_in(folder, {}) == "data.json");
  CHECK(named_in(folder, {"instruction"}) == "data.json");
}

TEST_CASE("folder patterns: a text after many files that are none") {
  const TemporaryFolder folder;
  for (int i = 10; i < 60; ++i)
    folder.write("a" + std::to_string(i) + ".dat", std::string(10, '\0'));
  folder.write("b.dat", "a text");
  CHECK(named_in(folder, {}) == "b.dat");
}

TEST_CASE("folder patterns: of a folder with recipes, and what exprun wrote there") {
  const TemporaryFolder folder;
  folder.write("README", "a text");
  folder.write("a.txt", "a text");
  folder.write("mine.toml", "[run]");
  folder.write("recipe.schema.json", "{}");
  folder.write("runs/exprun.db", std::string(10, '\0'));
  folder.write("runs/mine-1a2b3c4d/samples/step_00000010.txt", "a text");
  folder.write("shards/MANIFEST.json", "{}");
  folder.write("shards/data.json", "[]");
  CHECK(named_in(folder, {}) == "**/*.txt **/README");
  std::filesystem::remove(folder.path() / "mine.toml");
  CHECK(named_in(folder, {}) == "**");
  for (const char* kind : {"c", "cc", "h", "md", "rst", "tex"})
    folder.write(std::string("a.") + kind, "a text");
  folder.write("picture.png", std::string(10, '\0'));
  CHECK(named_in(folder, {}) ==
        "**/*.c **/*.cc **/*.h **/*.md **/*.rst **/*.tex **/*.txt **/README");
}

TEST_CASE("folder patterns: tokens without a header are known by the names that nanoGPT has") {
  const TemporaryFolder folder;
  const std::string tokens("\1\0\2\0\3\0", 6);
  folder.write("train.bin", tokens);
  CHECK_FALSE(has_bare_tokens(folder.path()));
  folder.write("val.bin", tokens);
  CHECK(has_bare_tokens(folder.path()));
  CHECK_FALSE(has_token_shards(folder.path()));
  const std::string at = folder.path().string();
  const std::string as_tokens =
      "write type = \"token_shards\", format = \"raw_uint16\" and train = \"" + at + "/train.bin\"";
  CHECK(how_to_name_files_in(folder.path(), {}) == "it has token shards: " + as_tokens);
  for (const std::string& other : {std::string(), std::string("\1\0\2", 3), std::string(80, 'a')}) {
    folder.write("val.bin", other);
    CHECK_FALSE(has_bare_tokens(folder.path()));
  }
  folder.write("val.bin", tokens);
  folder.write("input.txt", "a text");
  folder.write("prepare.py", "a script");
  folder.write("examples.jsonl", "{}");
  const std::string as_text = "write \"" + at + "/input.txt\"";
  CHECK(how_to_name_files_in(folder.path(), {}) == as_text + "; for its tokens " + as_tokens);
  CHECK(how_to_name_files_in(folder.path(), {"text", Split::validation}) == as_text);
  CHECK(how_to_name_files_in(folder.path(), {"instruction"}) == "write \"" + at + "/**/*.jsonl\"");
  CHECK_FALSE(has_tokens_of_characters(folder.path()));
  folder.write("meta.pkl", "the characters of the tokens");
  CHECK(has_tokens_of_characters(folder.path()));
  CHECK(how_to_name_files_in(folder.path(), {}) == as_text);
  folder.write("train.bin", header());
  CHECK_FALSE(has_tokens_of_characters(folder.path()));
}

TEST_CASE("folder patterns: the word val in a shard's name means validation") {
  for (const char* name :
       {"val.bin", "validation_0.bin", "fineweb_val_000.bin", "Eval.bin", "valid0.bin",
        "tiny-val.bin", "owtval.bin", "fineWebVal.bin", "valset_0.bin", "VAL1.bin", "vals.bin"})
    CHECK_MESSAGE(is_named_for_validation(name), name);
  for (const char* name :
       {"train.bin", "medieval_train_000.bin", "interval.bin", "value_000.bin", "fineWebTrain.bin",
        "retrieval_0.bin", "trainval_000.bin", "validated_train_000.bin", "archival.bin"})
    CHECK_MESSAGE(!is_named_for_validation(name), name);
}

TEST_CASE("folder patterns: of the other kind it is said which type reads them") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  folder.write("a.txt", "a text");
  CHECK(how_to_name_files_in(folder.path(), kTrain) ==
        "it has no token shards (*.bin); for its text write type = \"text\" and path = \"" + at +
            "/**\"");
  folder.write("train.bin", header());
  folder.write("val.bin", header());
  CHECK(how_to_name_files_in(folder.path(), {}) ==
        "it has token shards: write type = \"token_shards\" and train = \"" + at + "/train.bin\"");
  CHECK(how_to_name_files_in(folder.path(), {"text", Split::validation}) ==
        "it has token shards: write type = \"token_shards\" and validation = \"" + at +
            "/val.bin\"");
}

}  // namespace exprun
