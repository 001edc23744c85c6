// A preparation that was killed, or whose source or disk went wrong: what is kept, and what is not.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/process/ordered_workers.h"
#include "control/data/input_files.h"
#include "control/data/text_sources.h"
#include "control/data/tokenize_sources.h"
#include "support/file_size_limit.h"
#include "support/process_counters.h"
#include "support/temporary_folder.h"
#include "support/text_preparation.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

const std::string kAll = "validation_fraction = 0.0\n";

// A text that is prepared in folder/mine.
struct OwnData {
  TemporaryFolder folder;
  fs::path file = folder.write("a.txt", "abcdefgh");
  std::string rule = kAll + "shard_tokens = 3\n";
  fs::path mine = folder.path() / "mine";

  PreparedData made() const {
    PrepareOptions options;
    options.folder = mine;
    return prepare(file, folder.path() / "store", rule, options);
  }

  // As if killed while the whole set was being committed. Returns the hashes that were known.
  FileHashes leave_uncommitted() const {
    const ResolvedRecipe recipe = recipe_with(file, rule);
    const Section dataset = recipe.section("dataset");
    const TextOptions options = text_options(dataset);
    const auto sources = raw_sources(*recipe.find("dataset")->as<Table>(), "");
    const InputFiles inputs(sources, {}, options.identity(sources));
    const auto tokenizer = make_byte_tokenizer();
    fs::create_directories(partial_folder(mine));
    return tokenize_sources({dataset, options, inputs, *tokenizer, partial_folder(mine), 1,
                             /*save_seconds=*/0})
        .hashes;
  }

  // The first letter of the first shard becomes a capital: what is tokenized again shows.
  static void mark(const fs::path& shards) {
    std::fstream shard(shards / "train_000000.bin", std::ios::in | std::ios::out);
    const int first = shard.seekg(1024).get();
    shard.seekp(1024).put(static_cast<char>(std::toupper(first)));
  }
};

// Which error, and what it says of the file at `path`.
std::string failure(const fs::path& path, const fs::path& store, const std::string& more) try {
  prepare(path, store, more);
  return "";
} catch (const RecipeError& error) {
  return "recipe: " + error.diagnostics().at(0).message;
} catch (const Error& error) {
  return std::string("world: ") + error.what();
}

// A source that takes long enough for something to happen meanwhile.
struct LongPreparation {
  TemporaryFolder folder;
  fs::path file = folder.write("a.jsonl", records());
  fs::path store = folder.path() / "store";

  static std::string records() {
    std::string all;
    for (int i = 0; all.size() < 20'000'000; ++i)
      all += "{\"text\": \"record " + std::to_string(i) + "\"}\n";
    return all;
  }

  bool has_begun() const {
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(store, ignored))
      if (entry.path().filename() == kProgressFile) return true;
    return false;
  }

  // As failure(), with something done while it prepares, and never later.
  std::string failure_when_begun(const std::function<void()>& meanwhile) const {
    std::atomic<bool> over = false, acted = false;
    std::thread other([&] {
      while (!over && !has_begun()) std::this_thread::yield();
      if (over) return;
      meanwhile();
      acted = true;
    });
    const std::string said = failure(file, store, kAll);
    over = true;
    other.join();
    CHECK(acted);
    return said;
  }
};

// What it says where no thread can be started.
void check_not_started(size_t threads) {
  const pid_t child = ::fork();
  if (child == 0) {  // a user with one process: no thread more
    const rlimit one{1, 1};
    ::setrlimit(RLIMIT_NPROC, &one);
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    try {
      OrderedWorkers<int, int> workers(
          threads, [] { return [](int item) { return item; }; }, [](int) {});
      ::_exit(3);
    } catch (const Error& error) {
      ::_exit(std::string(error.what()) ==
                      "threads: cannot start one: Resource temporarily unavailable; raise the "
                      "limits of processes and memory (ulimit -u, -v)"
                  ? 0
                  : 4);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace

TEST_CASE("resume: killed while the set was committed, nothing is tokenized again") {
  const OwnData data;
  data.leave_uncommitted();
  OwnData::mark(partial_folder(data.mine));
  CHECK(text_of(data.made().train) == "Abcdefgh");
  CHECK_FALSE(fs::exists(data.mine / kProgressFile));
  CHECK_FALSE(fs::exists(partial_folder(data.mine)));

  // Even between the end of the set and its name.
  fs::rename(data.mine, partial_folder(data.mine));
  CHECK(text_of(data.made().train) == "Abcdefgh");
}

TEST_CASE("resume: a shard or a progress that is damaged means to begin anew") {
  const OwnData data;
  const fs::path partial = partial_folder(data.mine);
  const auto expect_anew = [&](auto damage) {
    data.leave_uncommitted();
    damage();
    CHECK(text_of(data.made().train) == "abcdefgh");
    fs::remove_all(data.mine);
  };
  expect_anew([&] { fs::resize_file(partial / "train_000000.bin", 1025); });
  expect_anew([&] { data.folder.write("mine.partial/train_000001.bin", std::string(1030, '\0')); });
  expect_anew([&] { fs::resize_file(partial / "train_000002.bin", 1025); });
  expect_anew([&] { fs::remove(partial / "train_000001.bin"); });
  expect_anew([&] { fs::resize_file(partial / kProgressFile, 10); });
}

TEST_CASE("prepare: a source that changes meanwhile is an error, and nothing is kept") {
  const LongPreparation data;
  const std::string said = data.failure_when_begun(
      [&] { std::ofstream(data.file, std::ios::app) << "{\"text\": \"late\"}\n"; });
  CHECK(said == "world: data: '" + data.file.string() +
                    "' changed while it was prepared, so nothing is kept; prepare it again when "
                    "nobody writes to it");
  CHECK(fs::is_empty(data.store));
}

TEST_CASE("prepare: a link to a source, made meanwhile, is no change of it") {
  const LongPreparation data;
  CHECK(data.failure_when_begun(
            [&] { fs::create_hard_link(data.file, data.folder.path() / "b.jsonl"); }) == "");
}

TEST_CASE("resume: a mistake in other options leaves what was begun") {
  OwnData data;
  data.leave_uncommitted();
  OwnData::mark(partial_folder(data.mine));
  const std::string rule = data.rule;
  data.rule = kAll + "tokenizer = \"char\"\nend_of_text = \"before\"\n";
  CHECK_THROWS_AS(data.made(), RecipeError);
  data.rule = rule;
  CHECK(text_of(data.made().train) == "Abcdefgh");
}

TEST_CASE("prepare: a source that the disk does not give is no mistake of the recipe") {
  const TemporaryFolder folder;
  RawSource source;
  source.source.file = folder.path();  // read() says EISDIR
  ChunkOptions options;
  options.records.format = "text";
  CHECK_THROWS_AS(read_chunks({source}, options, [](const Chunk&) {}), Error);
  CHECK_THROWS_AS(content_of({source}, [](int64_t) {}), Error);  // what was begun stays
}

TEST_CASE("prepare: shards are hashed before the commit, those of an earlier call at it") {
  const OwnData data;
  const FileHashes hashes = data.leave_uncommitted();
  REQUIRE(hashes.size() == 3);
  for (const auto& [name, hash] : hashes)
    CHECK(hash == hash_file_hex(partial_folder(data.mine) / name));
  CHECK(data.leave_uncommitted().size() == 1);  // the last shard, with which it goes on
  data.made();
  CHECK_FALSE(manifest_problem(data.mine, Verify::hashes));
}

TEST_CASE("resume: files that were being written when it was killed are no part of the data") {
  const OwnData data;
  data.leave_uncommitted();
  for (const char* name : {"progress.json.tmp-1-0", "MANIFEST.json.tmp-1-1"})
    data.folder.write("mine.partial/" + std::string(name), "half");
  data.made();
  for (const auto& entry : fs::directory_iterator(data.mine))
    CHECK(entry.path().string().find(".tmp-") == std::string::npos);
  CHECK_FALSE(manifest_problem(data.mine, Verify::hashes));
}

TEST_CASE("resume: what was begun of a file that changed since is begun anew") {
  const OwnData data;
  data.leave_uncommitted();
  OwnData::mark(partial_folder(data.mine));
  data.folder.write("a.txt", "ABCDefgh");
  fs::last_write_time(data.file, fs::last_write_time(data.file) + std::chrono::seconds(1));
  CHECK(text_of(data.made().train) == "ABCDefgh");
}

TEST_CASE("prepare: the sources are read once") {
  const TemporaryFolder folder;
  std::string records;  // of which next to nothing is written, and read again for the checksums
  for (int i = 0; i < 100; ++i)
    records += R"({"text": "a", "more": ")" + std::string(100'000, 'b') + "\"}\n";
  const fs::path file = folder.write("a.jsonl", records);
  const auto before = io_counter("rchar");
  if (!before) return;
  prepare(file, folder.path() / "store", kAll);
  const int64_t read = io_counter("rchar").value() - *before;
  CHECK(read >= static_cast<int64_t>(records.size()));
  CHECK(read < static_cast<int64_t>(records.size()) * 3 / 2);
}

TEST_CASE("prepare: a split that is wanted and gets no token is an error, and nothing is kept") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "store";
  const auto said = [&](const std::string& name, const std::string& bytes,
                        const std::string& rule = kAll) {
    const std::string text = failure(folder.write(name, bytes), store, rule);
    CHECK(fs::is_empty(store));
    return text;
  };
  const std::string none =
      "recipe: the sources contain no text, so there are no tokens to train on";
  CHECK(said("a.txt", "") == none);
  CHECK(said("a.txt", "", "") == none);
  CHECK(said("a.txt", "||", kAll + "separator = \"|\"\n") == none);
  CHECK(said("a.jsonl", "\n") == none);
  CHECK(said("a.json", "[]") == none);
  CHECK(said("a.gz", gzip("")) == none);
  const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  CHECK(said("a.jsonl", "{\"text\": \"\"}\n{\"text\": \"\"}\n") ==
        "recipe: the text of each of the 2 records is empty, so there are no tokens to train on");
  CHECK(said("a.txt", letters, kAll + "block_tokens = 1000\n") ==
        "recipe: the training data does not fill one block of 1,000 tokens");
  CHECK(said("a.txt", letters, "block_tokens = 20\n") ==
        "recipe: the validation data does not fill one block of 20 tokens");
  CHECK(said("a.txt", letters, "validation_tokens = 26\n") ==
        "recipe: 'validation_tokens' keeps all 26 tokens for validation, which leaves none for "
        "training");
  CHECK(said("a.txt", letters, "validation_every = 1\n") ==
        "recipe: 'validation_every' keeps all 26 tokens for validation, which leaves none for "
        "training");
  CHECK(said("a.txt", "a", "validation_fraction = 0.5\n") ==
        "recipe: 'validation_fraction' keeps the one token for validation, which leaves none for "
        "training");
  CHECK(said("a.txt", letters, "validation_every = 2\n") ==
        "recipe: 'validation_every' keeps none of 26 tokens for validation");
  const fs::path empty = folder.write("empty.txt", "");
  CHECK(said("a.txt", letters, "validation = '" + empty.string() + "'\n") ==
        "recipe: the files contain no text, so there are no tokens to validate on");
}

TEST_CASE("prepare: a bad record leaves nothing beside a folder of the user's own") {
  OwnData data;
  data.file = data.folder.write("a.jsonl", "{\"text\": \"good\"}\n{\"t\": 1}\n");
  CHECK_THROWS_AS(data.made(), RecipeError);
  CHECK_FALSE(fs::exists(data.mine));
  CHECK_FALSE(fs::exists(partial_folder(data.mine)));
}

TEST_CASE("prepare: a bad record is the recipe's error in a file of any size") {
  const TemporaryFolder folder;
  std::string records;
  for (int i = 0; i < 100'000; ++i) records += "{\"text\": \"a record\"}\n";
  for (const size_t good : {0, 1'000, 100'000})
    for (const char* tokenizer : {"byte", "char"}) {
      const std::string before = records.substr(0, good * 21);
      const fs::path file = folder.write("a.jsonl", before + "{\"t\": 1}\n" + records);
      CHECK(failure(file, folder.path() / "store", kAll + "tokenizer = \"" + tokenizer + "\"\n") ==
            "recipe: record " + std::to_string(good + 1) + " of '" + file.string() + "' (line " +
                std::to_string(good + 1) +
                ") has no field 'text'; it has 't'"
                "; dataset.template says which fields are read, such as template = \"{t}\"");
    }
}

TEST_CASE("prepare: a full disk is the world's error, and what was written is gone on with") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", std::string(8'000'000, 'a'));
  const fs::path store = folder.path() / "store";
  {
    const FileSizeLimit full(4'000'000);
    CHECK(failure(file, store, kAll).starts_with("world: file: cannot write '" + store.string()));
  }
  CHECK(token_count(prepare(file, store, kAll).train) == 8'000'000);
}

TEST_CASE("resume: what lies behind the last durable place counts for nothing") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; text.size() < 3'000'000; ++i) text += "line " + std::to_string(i) + "\n";
  const fs::path file = folder.write("a.txt", text);
  PrepareOptions options;
  options.folder = folder.path() / "mine";
  options.save_seconds = 0;
  const auto made = [&] { return prepare(file, folder.path() / "store", kAll, options); };
  {
    const FileSizeLimit killed(2'000'000);
    CHECK_THROWS_AS(made(), Error);
  }
  const fs::path partial = partial_folder(options.folder), shard = partial / "train_000000.bin";
  const auto mark = nlohmann::json::parse(read_file(partial / kProgressFile));
  const auto durable = 1024 + 2 * mark.at("shards").at("train").at("open").get<uintmax_t>();
  REQUIRE(durable > 1'000'000);
  REQUIRE(durable < fs::file_size(shard));
  // Where the power failed, zeros may stand for what was written, and more of them.
  fs::resize_file(shard, durable);
  fs::resize_file(shard, 3'000'000);
  OwnData::mark(partial);
  const PreparedData data = made();
  CHECK_FALSE(manifest_problem(options.folder, Verify::hashes));
  CHECK(data.validation.empty());
  text[0] = 'L';  // it went on, and did not begin anew
  CHECK(text_of(data.train) == text);
}

TEST_CASE("prepare: a mixture of text and records has an end of text where documents are told") {
  const auto tokenizer = gpt2_keys();
  if (!tokenizer) return;
  const TemporaryFolder folder;
  folder.write("a.txt", "a text");
  folder.write("b.jsonl", "{\"text\": \"a record\"}\n{\"text\": \"another\"}\n");
  const auto data = prepare(folder.path() / "*", folder.path() / "store", kAll + *tokenizer);
  const std::vector<int64_t> expected = {64, 2420, 50256, 64, 1700, 50256, 29214};
  CHECK(tokens_of(data.train) == expected);
}

TEST_CASE("prepare: threads that cannot be started are an error") {
  check_not_started(4);
  check_not_started(1);
}
