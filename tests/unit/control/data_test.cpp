#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>

#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "control/data/input_files.h"
#include "control/data/prepare.h"
#include "recipe/resolved.h"
#include "support/byte_level.h"
#include "support/fixtures.h"
#include "support/process_counters.h"
#include "support/shard_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_preparation.h"
#include "text/tokenizer.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

ResolvedRecipe recipe_with(const std::string& dataset, const DatasetInfo& dataset_info = {}) {
  const std::string text =
      "run.steps = 1\n[model]\ntype = \"gpt\"\nnum_layers = 1\nnum_heads = 1\nhidden_size = 8\n"
      "context_length = 4\n[batch]\nsequences = 2\n[optimizer]\ntype = \"adamw\"\nlr = 1e-3\n"
      "[dataset]\n" +
      dataset;
  return resolve({{std::make_shared<SourceFile>(SourceFile{"test.toml", text})}, {}}, dataset_info);
}

ResolvedRecipe text_recipe(const fs::path& path, const std::string& more = "") {
  return recipe_with("type = \"text\"\npath = \"" + path.string() + "\"\n" + more);
}

std::string decoded(const PreparedData& data, const std::vector<TokenShard>& shards) {
  return load_tokenizer(data.tokenizer)->decode(tokens_of(shards));
}

// The rendered complaint of preparing a recipe.
std::string complaint(const ResolvedRecipe& recipe, const fs::path& data_folder) {
  try {
    prepare_data(recipe, data_folder, "");
  } catch (const RecipeError& error) {
    return error.what();
  }
  return "";
}

// A shard of zeros, with a header for `tokens`; sparse on the disk.
fs::path sparse_shard(const TemporaryFolder& folder, const std::string& name, int32_t tokens) {
  const int32_t header[] = {kShardMagic, 1, tokens};
  const fs::path file = folder.write(name, {reinterpret_cast<const char*>(header), sizeof header});
  fs::resize_file(file, 1024 + 2 * static_cast<uintmax_t>(tokens));
  return file;
}

}  // namespace

TEST_CASE("data: bytes are tokenized and split, the last part for validation") {
  const TemporaryFolder folder;
  const auto recipe = text_recipe(folder.write("a.txt", "0123456789abcdefghijABCDEFGHIJ\xff..."),
                                  "validation_fraction = 0.25\n");
  const PreparedData data = prepare_data(recipe, folder.path() / "data", "");
  CHECK(data.vocab_size == 256);
  CHECK(decoded(data, data.train) == "0123456789abcdefghijABCDE");  // floor(0.75 * 34)
  CHECK(decoded(data, data.validation) == "FGHIJ\xff...");
  CHECK(data.fingerprint.size() == 32);
  CHECK(fs::path(data.train[0].path).is_absolute());
}

TEST_CASE("data: characters are counted as characters, over all files in order") {
  const TemporaryFolder folder;
  folder.write("b.txt", "\u00e9\u00e9\u00e9\u00e9\u00e9");
  folder.write("a.txt", "\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d");
  const auto recipe =
      text_recipe(folder.path() / "*.txt", "tokenizer = \"char\"\nvalidation_fraction = 0.5\n");
  const PreparedData data = prepare_data(recipe, folder.path() / "data", "");
  CHECK(data.vocab_size == 2);
  CHECK(decoded(data, data.train) == "\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d");
  CHECK(tokens_of(data.validation) == std::vector<int64_t>{0, 0, 0, 0, 0});
}

TEST_CASE("data: killed at any moment, preparing leaves nothing or all of it") {
  const TemporaryFolder folder;
  const auto recipe = text_recipe(folder.write("a.txt", std::string(2'000'000, 'a')));
  for (int attempt = 0; attempt < 24; ++attempt) {
    const fs::path store = folder.path() / std::to_string(attempt);
    const pid_t child = ::fork();
    if (child == 0) {
      prepare_data(recipe, store, "");
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(500 * attempt));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const auto& entry : fs::directory_iterator(fs::exists(store) ? store : folder.path()))
      if (entry.path().filename().string().size() == 32)  // a fingerprint
        CHECK_FALSE(manifest_problem(entry.path(), Verify::hashes));
    CHECK(tokens_of(prepare_data(recipe, store, "").train).size() == 1'800'000);
  }
}

TEST_CASE("data: validation_fraction = 0 keeps none") {
  const TemporaryFolder folder;
  const auto recipe = text_recipe(folder.write("a.txt", "abcdefgh"), "validation_fraction = 0.0\n");
  const PreparedData data = prepare_data(recipe, folder.path() / "data", "");
  CHECK(data.validation.empty());
  CHECK(tokens_of(data.train).size() == 8);
}

TEST_CASE("data: a second call does nothing, a changed source or option is other data") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", std::string(100, 'a'));
  const fs::path store = folder.path() / "data";
  const PreparedData first = prepare_data(text_recipe(file), store, "");
  const auto written = fs::last_write_time(first.train[0].path);
  const PreparedData second = prepare_data(text_recipe(file), store, "");
  CHECK(second.to_json() == first.to_json());
  CHECK(fs::last_write_time(first.train[0].path) == written);

  // The name does not count, what is read does.
  const fs::path copy = folder.write("copy.txt", std::string(100, 'a'));
  CHECK(prepare_data(text_recipe(copy), store, "").fingerprint == first.fingerprint);
  const auto fraction = prepare_data(text_recipe(file, "validation_fraction = 0.2\n"), store, "");
  const auto characters = prepare_data(text_recipe(file, "tokenizer = \"char\"\n"), store, "");
  folder.write("a.txt", std::string(99, 'a') + "b");
  const auto changed = prepare_data(text_recipe(file), store, "");
  CHECK(fraction.fingerprint != first.fingerprint);
  CHECK(characters.fingerprint != first.fingerprint);
  CHECK(changed.fingerprint != first.fingerprint);
}

TEST_CASE(
    "data: which they are is known before they are prepared, of large texts having read them") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "data";
  const auto shards = recipe_with("type = \"token_shards\"\ntrain = \"" +
                                  sparse_shard(folder, "train.bin", 20).string() + "\"\n");
  const auto small = text_recipe(folder.write("a.txt", std::string(100, 'a')));
  const auto large = text_recipe(folder.write("b.txt", std::string(17 << 20, 'b')));
  CHECK_FALSE(data_fingerprint(large, store, Reading::little, ""));
  for (const auto* recipe : {&shards, &small, &large}) {
    const auto before = data_fingerprint(*recipe, store, Reading::all, "");
    if (recipe != &large) CHECK(data_fingerprint(*recipe, store, Reading::little, "") == before);
    CHECK(prepare_data(*recipe, store, "").fingerprint == before);
    CHECK(data_fingerprint(*recipe, store, Reading::all, "") == before);
  }
  for (const char* file : {"train.bin", "a.txt", "b.txt"}) fs::remove(folder.path() / file);
  for (const auto* recipe : {&shards, &small, &large})
    CHECK_FALSE(data_fingerprint(*recipe, store, Reading::all, ""));
}

TEST_CASE("data: what was damaged or left by a killed process is made again") {
  const TemporaryFolder folder;
  const auto recipe = text_recipe(folder.write("a.txt", std::string(100, 'a')));
  const fs::path store = folder.path() / "data";
  const PreparedData first = prepare_data(recipe, store, "");
  fs::resize_file(first.train[0].path, 1030);
  folder.write("data/" + first.fingerprint + ".tmp-1-0/train_000000.bin", "half");
  const PreparedData again = prepare_data(recipe, store, "");
  CHECK(tokens_of(again.train).size() == 90);
  CHECK_FALSE(fs::exists(store / (first.fingerprint + ".tmp-1-0")));
}

TEST_CASE("data: processes that prepare the same at once do it once and agree") {
  const TemporaryFolder folder;
  const auto recipe = text_recipe(folder.write("a.txt", std::string(3'000'000, 'a')));
  const fs::path store = folder.path() / "data";
  for (int i = 0; i < 4; ++i)
    if (::fork() == 0) {
      try {
        ::_exit(tokens_of(prepare_data(recipe, store, "").train).size() == 2'700'000 ? 0 : 1);
      } catch (...) {
        ::_exit(2);
      }
    }
  for (int i = 0; i < 4; ++i) {
    int status = -1;
    ::wait(&status);
    CHECK(status == 0);
  }
  int folders = 0;
  for (const auto& entry : fs::directory_iterator(store)) folders += entry.is_directory();
  CHECK(folders == 1);
}

TEST_CASE("data: the shipped Shakespeare recipe sees the text as nanoGPT does") {
  const auto text = fixture("data/tinyshakespeare.txt");
  if (!text) return;
  const TemporaryFolder folder;
  const auto recipe = resolve(read_recipe("recipes/shakespeare_char_cpu.toml",
                                          {"dataset.path=" + fs::absolute(*text).string()}));
  const PreparedData data = prepare_data(recipe, folder.path(), "");
  CHECK(data.vocab_size == 65);
  CHECK(data.train.at(0).tokens == 1'003'854);
  CHECK(data.validation.at(0).tokens == 111'540);
  CHECK(decoded(data, data.train) + decoded(data, data.validation) == read_file(*text));
}

TEST_CASE("data: shards of another project are read") {
  const auto train = fixture("data/tiny_shakespeare_train.bin");
  const auto validation = fixture("data/tiny_shakespeare_val.bin");
  if (!train || !validation) return;
  const auto recipe = recipe_with("type = \"token_shards\"\ntrain = \"" + train->string() +
                                  "\"\nvalidation = \"" + validation->string() + "\"\n");
  const PreparedData data = prepare_data(recipe, "", "");
  CHECK(data.train.at(0).tokens == 298'039);
  CHECK(data.validation.at(0).tokens == 32'768);
  CHECK(tokens_of(data.validation).at(0) == 50256);
}

TEST_CASE("data: a missing file, a folder and a glob without match are shown together") {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  folder.write("text.md", "a text");
  const auto recipe = recipe_with("type = \"text\"\npath = [\n\"" + at + "/none.txt\",\n\"" + at +
                                  "\",\n\"" + at + "/*.txt\"]\n");
  const std::string expected =
      "test.toml:16:1: error: '" + at + "/none.txt' does not exist\n    \"" + at +
      "/none.txt\",\n    " + std::string(at.size() + 11, '^') +
      " give the path of a file that exists\n"
      "test.toml:17:1: error: '" +
      at + "' is a folder, not a file\n    \"" + at + "\",\n    " +
      std::string(at.size() + 2, '^') + " write \"" + at +
      "/**\"\n"
      "test.toml:18:1: error: no file matches '" +
      at + "/*.txt'\n    \"" + at + "/*.txt\"]\n    " + std::string(at.size() + 8, '^') +
      " give the path of a file that exists\n";
  CHECK(complaint(recipe, folder.path() / "data") == expected);
  CHECK(render(glance_at_data(recipe, folder.path() / "data", "").problems) == expected);
  CHECK_FALSE(fs::exists(folder.path() / "data"));
}

TEST_CASE("data: files of no bytes are told at first sight, as preparing them would") {
  const TemporaryFolder folder;
  const std::string empty = folder.write("empty.txt", "").string();
  const std::string full = folder.write("full.txt", "abcdefgh").string();
  const auto said = [&](const std::string& keys) {
    const auto recipe = recipe_with("type = \"text\"\ntokenizer = \"byte\"\n" + keys);
    const auto problems = glance_at_data(recipe, folder.path() / "data", "").problems;
    CHECK(render(problems) == complaint(recipe, folder.path() / "data"));
    return problems.empty() ? "" : problems[0].message;
  };
  CHECK(said("path = '" + empty + "'\n") ==
        "the sources contain no text, so there are no tokens to train on");
  CHECK(said("path = '" + empty + "'\nvalidation = '" + full + "'\n") ==
        "the sources contain no text, so there are no tokens to train on");
  CHECK(said("path = '" + full + "'\nvalidation = '" + empty + "'\n") ==
        "the files contain no text, so there are no tokens to validate on");
  CHECK(said("path = ['" + empty + "', '" + full + "']\n") == "");
}

TEST_CASE("data: the tokens of few sources are known at first sight, as many as preparing makes") {
  const TemporaryFolder folder;
  std::string text, records;
  for (int i = 0; i < 40; ++i) {
    text += "the f\xc3\xa4st ship " + std::to_string(i) + "\n\n";
    records += "{\"text\": \"the f\\u00e4st ship " + std::to_string(i) + "\"}\n";
  }
  const std::string tokenizer =
      "tokenizer = 'huggingface'\nvocabulary = '" +
      folder.write("of/tokenizer.json", small_tokenizer(byte_level()).dump()).string() + "'\n";
  const auto gpt2 = gpt2_keys();
  for (const char* file : {"a.txt", "a.md", "a.h", "a.jsonl"}) {
    const fs::path path = folder.write(file, file[2] == 'j' ? records : text);
    for (const std::string& keys :
         {std::string(), std::string("tokenizer = 'byte'\nseparator = '\\n\\n'\n"), tokenizer,
          gpt2.value_or(tokenizer), tokenizer + "end_of_text = 'none'\n"})
      for (const char* rule :
           {"", "validation_fraction = 0.0\n", "validation_tokens = 13\n", "validation_every = 7\n",
            "block_tokens = 9\nblock_documents = 3\nvalidation_every = 2\n"}) {
        CAPTURE(file);
        CAPTURE(keys);
        CAPTURE(rule);
        const auto recipe = text_recipe(path, keys + rule);
        const DataGlance glance = glance_at_data(recipe, folder.path() / "data", "");
        CHECK_FALSE(glance.prepared);
        if (has_errors(glance.problems))
          CHECK(render(glance.problems) == complaint(recipe, folder.path() / "data"));
        else
          CHECK(glance.dataset_info == facts_of(prepare_data(recipe, folder.path() / "data", "")));
      }
  }
}

TEST_CASE("data: of many sources it is known how many tokens there are at most, and likely") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("a.md", std::string(5 << 20, 'a'));
  const auto glance = [&](const std::string& keys) {
    return glance_at_data(text_recipe(path, keys), folder.path() / "data", "").dataset_info;
  };
  const DatasetInfo bytes = glance("tokenizer = 'byte'\nvalidation_fraction = 0.1\n");
  CHECK_FALSE(bytes.train_tokens);
  CHECK(bytes.most_train_tokens == (5 << 20) + 1);
  CHECK(bytes.most_validation_tokens == 524289);
  CHECK(bytes.likely_validation_tokens == 524288);
  const auto gpt2 = gpt2_keys();
  if (!gpt2) return;
  CHECK(glance(*gpt2 + "validation_fraction = 0.1\n").likely_validation_tokens == 131072);
  CHECK(glance(*gpt2 + "validation_tokens = 99\n").likely_validation_tokens == 99);
}

TEST_CASE("data: records that do not fit the template are found before they are prepared") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.jsonl", "{\"text\": \"one\"}\n{\"body\": \"two\"}\n");
  const auto recipe = recipe_with("type = \"text\"\npath = '" + path + "'\n");
  const auto problems = glance_at_data(recipe, folder.path() / "data", "").problems;
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message ==
        "record 2 of '" + path +
            "' (line 2) has no field 'text'; it has 'body'"
            "; dataset.template says which fields are read, such as template = \"{body}\"");
}

TEST_CASE("data: characters that a vocabulary lacks are told at first sight, as preparing would") {
  const TemporaryFolder folder;
  const std::string vocabulary =
      folder
          .write("tokenizer.json",
                 R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "\n": 2}}})")
          .string();
  const auto said = [&](const std::string& file, const std::string& text, const std::string& keys) {
    const std::string path = folder.write(file, text).string();
    const auto recipe = recipe_with("path = '" + path + "'\ntokenizer = \"huggingface\"\n" +
                                    "vocabulary = '" + vocabulary + "'\n" + keys);
    const auto problems = glance_at_data(recipe, folder.path() / "data", "").problems;
    CHECK(render(problems) == complaint(recipe, folder.path() / "data"));
    std::string message = problems.empty() ? "" : problems[0].message;
    if (const size_t at = message.find(path); at != message.npos)
      message.replace(at, path.size(), file);
    return message;
  };
  const std::string text = "type = \"text\"\n";
  const std::string unknown =
      "cannot be tokenized: 'c' (U+0063) is not one of the 3 characters that the tokenizer knows; "
      "replace it in the data, or train a new model whose tokenizer has it";
  CHECK(said("a.txt", "abba\n\nabba\n", text) == "");
  CHECK(said("b.txt", "abba\n\nabca\n", text) == "'b.txt' " + unknown);
  CHECK(said("c.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"abc\"}\n", text) ==
        "record 2 of 'c.jsonl' (line 2) " + unknown);
  CHECK(said("d.jsonl", "{\"prompt\": \"a\", \"response\": \"b\"}\n",
             "type = \"instruction\"\ntemplate = \"chatml\"\n") ==
        "the tokenizer lacks a character that template \"chatml\" writes: '<' (U+003C) is not "
        "one of the 3 characters that the tokenizer knows");
}

TEST_CASE("data: a text that begins like something else is found before it is prepared") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "{\"text\": \"one\"}\n").string();
  const auto recipe = recipe_with("type = \"text\"\npath = '" + path + "'\n");
  const auto problems = glance_at_data(recipe, folder.path() / "data", "").problems;
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message == "'" + path +
                                   "' begins with a line that is a JSON object, but the recipe "
                                   "gives no format; write format = \"json_lines\", or set format "
                                   "= \"text\" to read it as is");
}

TEST_CASE("data: keys that are about no source are told") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& name, const std::string& more) {
    const bool is_text = name.ends_with(".txt");
    const std::string path =
        folder.write(name, is_text ? "one" : "{\"a\": \"one\", \"text\": \"two\"}").string();
    const auto recipe = recipe_with("type = \"text\"\npath = '" + path + "'\n" + more +
                                    "validation_fraction = 0.0\n");
    std::string text;
    for (const auto& problem : glance_at_data(recipe, folder.path() / "data", "").problems) {
      CHECK(problem.severity == Severity::warning);
      text += problem.where.file->name + ":" + std::to_string(problem.where.line) + " " +
              problem.message + "\n";
    }
    return text;
  };
  const std::string keys = "separator = \"|\"\ntemplate = \"{a}\"\nfallback_template = \"{b}\"\n";
  CHECK(said("a.txt", keys) ==
        "test.toml:17 'template' has no effect when every source is text\n"
        "test.toml:18 'fallback_template' has no effect when every source is text\n");
  CHECK(said("a.jsonl", keys) ==
        "test.toml:16 'separator' has no effect when every source is JSON\n");
  CHECK(said("a.jsonl", "separator = \"\"\n") == "");
  CHECK(said("a.jsonl", "") + said("a.txt", "") == "");
  CHECK(said("a.jsonl", keys + "validation = '" + (folder.path() / "a.txt").string() + "'\n") ==
        "");
}

TEST_CASE("data: a missing public file comes with the command that gets it") {
  const TemporaryFolder folder;
  const std::string text = complaint(text_recipe("none/tinyshakespeare.txt"), folder.path());
  CHECK(text.find("'none/tinyshakespeare.txt' does not exist") != std::string::npos);
  CHECK(text.find("^ get it: exprun data fetch tinyshakespeare --to 'none/'\n") !=
        std::string::npos);
}

TEST_CASE("data: a missing relative path says what it is relative to") {
  const std::string text = complaint(text_recipe("none.txt"), "none");
  CHECK(text.find("^ paths are relative to the working directory, " + fs::current_path().string() +
                  "\n") != std::string::npos);
}

TEST_CASE("data: text that is no UTF-8 has its place, and bytes as the way out") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", "one\ntwo\xff\n");
  CHECK(complaint(text_recipe(file, "tokenizer = \"char\"\n"), folder.path() / "data") ==
        "test.toml:16:13: error: '" + file.string() +
            "' is not UTF-8: byte 7, in line 2\n"
            "    tokenizer = \"char\"\n"
            "                ^^^^^^ write tokenizer = \"byte\", or convert the file\n");
}

TEST_CASE("data: a split shorter than one sample is refused once the data are known") {
  const auto complaint_of = [](int64_t train, int64_t validation) -> std::string {
    try {
      recipe_with("type = \"text\"\npath = \"a\"\n", DatasetInfo{256, train, validation});
    } catch (const RecipeError& error) {
      return error.diagnostics().at(0).message;
    }
    return "";
  };
  CHECK(complaint_of(4, 5) == "'context_length' is 4, but the training data has only 4 tokens");
  CHECK(complaint_of(5, 4) == "'context_length' is 4, but the validation data has only 4 tokens");
  CHECK(complaint_of(5, 5) == "");
}

TEST_CASE("data: a folder that cannot be made is an error that names it") {
  const TemporaryFolder folder;
  const auto recipe = text_recipe(folder.write("a.txt", std::string(100, 'a')));
  const fs::path store = folder.write("file", "") / "data";
  CHECK_THROWS_WITH_AS(
      prepare_data(recipe, store, ""),
      ("file: cannot make folder '" + store.string() + "': Not a directory").c_str(), Error);
}

TEST_CASE("data: shards are named where they lie, and known by what they hold") {
  const TemporaryFolder folder;
  sparse_shard(folder, "train_1.bin", 30);
  sparse_shard(folder, "train_0.bin", 20);
  sparse_shard(folder, "val.bin", 10);
  const std::string at = folder.path().string();
  const auto recipe = recipe_with("type = \"token_shards\"\ntrain = \"" + at +
                                  "/train_*.bin\"\nvalidation = \"" + at + "/val.bin\"\n");
  const PreparedData data = prepare_data(recipe, folder.path() / "data", "");
  REQUIRE(data.train.size() == 2);
  CHECK(data.train[0].tokens == 20);
  CHECK(data.train[1].path == at + "/train_1.bin");
  CHECK(data.validation.size() == 1);
  CHECK_FALSE(data.vocab_size);
  CHECK_FALSE(fs::exists(folder.path() / "data"));

  fs::rename(folder.path() / "train_1.bin", folder.path() / "train_2.bin");
  CHECK(prepare_data(recipe, "", "").fingerprint == data.fingerprint);
  std::fstream(folder.path() / "val.bin", std::ios::in | std::ios::out).seekp(1030).put(1);
  CHECK(prepare_data(recipe, "", "").fingerprint != data.fingerprint);
}

TEST_CASE("data: a file that is no shard is an error at the path that named it") {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.bin", std::string(2048, '\x81')).string();
  const auto recipe = recipe_with("type = \"token_shards\"\ntrain = \"" + file + "\"\n");
  CHECK(complaint(recipe, "") ==
        "test.toml:15:9: error: token shard: '" + file +
            "' begins with -2122219135, not with a shard's magic 20240520, "
            "20250211 or 20240801; if it contains "
            "only tokens, write format = \"raw_uint16\"\n    train = \"" +
            file + "\"\n            " + std::string(file.size() + 2, '^') + "\n");
  const auto raw =
      recipe_with("type = \"token_shards\"\nformat = \"raw_uint16\"\ntrain = \"" + file + "\"\n");
  CHECK(prepare_data(raw, "", "").train[0].tokens == 1024);
}

TEST_CASE("data: a copy of some files of a set is compared with its manifest once") {
  using namespace std::chrono_literals;
  const TemporaryFolder folder;
  const fs::path file = sparse_shard(folder, "train.bin", 20);
  for (const char* other : {"data.json", "validation.bin"}) folder.write(other, "{}");
  const fs::path manifest = folder.write(kManifestName, manifest_of(folder.path()));
  for (const char* other : {"data.json", "validation.bin"}) fs::remove(folder.path() / other);
  fs::last_write_time(manifest, fs::last_write_time(file) - 1h);
  const auto recipe = recipe_with("type = \"token_shards\"\ntrain = \"" + file.string() + "\"\n");
  CHECK(prepare_data(recipe, "", "").train[0].tokens == 20);
  CHECK(fs::last_write_time(manifest) == fs::last_write_time(file));
}

TEST_CASE("data: shards beside a manifest that cannot be read are used as they are") {
  const TemporaryFolder folder;
  const fs::path file = sparse_shard(folder, "train.bin", 20);
  fs::create_directory(folder.path() / kManifestName);
  const auto recipe = recipe_with("type = \"token_shards\"\ntrain = \"" + file.string() + "\"\n");
  CHECK(prepare_data(recipe, "", "").train[0].tokens == 20);
  CHECK(glance_at_data(recipe, "", "").problems.empty());
}

TEST_CASE("data: twenty gigabytes of shards are known in a moment") {
  const TemporaryFolder folder;
  for (int i = 0; i < 100; ++i)
    sparse_shard(folder, "train_" + std::to_string(i) + ".bin", 100'000'000);
  const auto recipe = recipe_with("type = \"token_shards\"\ntrain = \"" +
                                  (folder.path() / "*.bin").string() + "\"\n");
  const auto before = bytes_touched();
  const std::string fingerprint = prepare_data(recipe, "", "").fingerprint;
  if (before) CHECK(bytes_touched().value() - *before < 20'000'000);  // a thousandth
  // The last token counts, too.
  std::fstream(folder.path() / "train_7.bin", std::ios::in | std::ios::out)
      .seekp(1024 + 199'999'999)
      .put(1);
  CHECK(prepare_data(recipe, "", "").fingerprint != fingerprint);
}
