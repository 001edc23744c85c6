// Raw sources into shards: other projects' counts, split rules, formats, kills, memory.
#include "control/data/prepare_text.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "control/data/input_files.h"
#include "control/data/read/document_chunks.h"
#include "control/data/text_sources.h"
#include "recipe/resolved.h"
#include "support/byte_level.h"
#include "support/fixtures.h"
#include "support/process_counters.h"
#include "support/shard_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_preparation.h"
#include "text/pattern_pretokenizer.h"
#include "text/tokenizer.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

const std::string kBytes = "end_of_text = \"none\"\n";

// Bytes, two special tokens, and `first` as the token that a template has before every text.
std::string keys_of_tokenizer(const TemporaryFolder& folder, const std::string& first) {
  nlohmann::json tokenizer = small_tokenizer(byte_level());
  int id = 256;
  for (const char* text : {"<|endoftext|>", "<begin>"})
    tokenizer["added_tokens"].push_back({{"content", text}, {"id", id++}, {"special", true}});
  const nlohmann::json special{{"SpecialToken", {{"id", first}}}},
      text{{"Sequence", {{"id", "A"}}}};
  if (!first.empty())
    tokenizer["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {special, text}},
        {"special_tokens", {{first, {{"ids", {first == "<begin>" ? 257 : 256}}}}}}};
  const auto file = folder.write("of" + first.substr(0, 3) + "/tokenizer.json", tokenizer.dump());
  return "tokenizer = \"huggingface\"\nvocabulary = '" + file.string() + "'\n";
}

}  // namespace

TEST_CASE("prepare: DDP-BASEMODEL-TRAIN's shards of tinyshakespeare, token for token") {
  const auto text = fixture("data/tinyshakespeare.txt");
  const auto train = fixture("data/tiny_shakespeare_train.bin");
  const auto validation = fixture("data/tiny_shakespeare_val.bin");
  const auto tokenizer = gpt2_keys();
  if (!text || !train || !validation || !tokenizer) return;
  const TemporaryFolder folder;
  const PreparedData data = prepare(
      *text, folder.path(), *tokenizer + "separator = \"\\n\\n\"\nvalidation_tokens = 32768\n");
  CHECK(token_count(data.train) == 298'039);
  CHECK(token_count(data.validation) == 32'768);
  CHECK(tokens_of(data.train) == tokens_of({inspect_shard(*train, ShardFormat::with_header)}));
  CHECK(tokens_of(data.validation) ==
        tokens_of({inspect_shard(*validation, ShardFormat::with_header)}));
}

TEST_CASE("prepare: llm.c's counts of tinyshakespeare, which keeps the blank lines") {
  const auto text = fixture("data/tinyshakespeare.txt");
  const auto tokenizer = gpt2_keys();
  if (!text || !tokenizer) return;
  const TemporaryFolder folder;
  const PreparedData data = prepare(
      *text, folder.path(),
      *tokenizer + "separator = \"\\n\\n\"\nkeep_separator = true\nvalidation_tokens = 32768\n");
  CHECK(token_count(data.train) == 305'260);
  CHECK(token_count(data.validation) == 32'768);
}

TEST_CASE("prepare: nanoGPT's counts of tinyshakespeare, split at a character") {
  const auto text = fixture("data/tinyshakespeare.txt");
  const auto tokenizer = gpt2_keys();
  if (!text || !tokenizer) return;
  const TemporaryFolder folder;
  const PreparedData data = prepare(*text, folder.path(), *tokenizer);
  CHECK(token_count(data.train) == 301'966);
  CHECK(token_count(data.validation) == 36'059);
}

TEST_CASE("prepare: a document begins with the token that a tokenizer puts before every text") {
  const TemporaryFolder folder;
  const fs::path texts = folder.write("a.txt", "ab|<begin>c|d");
  const fs::path records =
      folder.write("a.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"<begin>c\"}\n");
  const auto tokens = [&](const fs::path& file, const std::string& first, const std::string& more) {
    return tokens_of(
        prepare(file, folder.path() / "data",
                keys_of_tokenizer(folder, first) + "validation_fraction = 0.0\n" + more)
            .train);
  };
  using Ids = std::vector<int64_t>;
  const std::string split = "separator = \"|\"\n", bare = "end_of_text = \"none\"\n";
  CHECK(tokens(texts, "<begin>", split + bare) == Ids{257, 'a', 'b', 257, 'c', 257, 'd'});
  CHECK(tokens(texts, "<begin>", split + "end_of_text = \"after\"\n") ==
        Ids{257, 'a', 'b', 256, 257, 'c', 256, 257, 'd', 256});
  CHECK(tokens(records, "<begin>", "") == Ids{256, 257, 'a', 'b', 256, 257, 'c'});
  CHECK(tokens(records, "<begin>", bare) == Ids{257, 'a', 'b', 257, 'c'});
  CHECK(tokens(folder.write("b.txt", "ab"), "<begin>", "") == Ids{257, 'a', 'b'});
  const auto both = tokens(folder.write("c.jsonl", "{\"text\": \"ab\"}\n"), "<|endoftext|>", "");
  CHECK(both == Ids{256, 'a', 'b'});
  CHECK(tokens(folder.write("b.txt", "ab"), "", "") == Ids{'a', 'b'});
}

TEST_CASE("prepare: only data with a token before every text are known by another name") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", "abcdefghijklmnopqrstuvwxyz");
  const auto is_as_before = [&](const std::string& first) {
    const std::string keys = keys_of_tokenizer(folder, first);
    const auto recipe = recipe_with(file, keys);
    const auto* table = recipe.find("dataset")->as<Table>();
    const auto options = text_options(recipe.section("dataset"));
    const auto sources = raw_sources(*table, "");
    const InputFiles inputs(sources, {fs::path(options.vocabulary)}, options.identity(sources));
    return prepare(file, folder.path() / "data", keys).fingerprint == inputs.fingerprint();
  };
  CHECK(is_as_before(""));
  CHECK_FALSE(is_as_before("<begin>"));
}

TEST_CASE("prepare: threads, shard size and packing of the file change no token") {
  const auto text = fixture("data/wikitext2_valid.txt");
  const auto tokenizer = gpt2_keys();
  if (!text || !tokenizer) return;
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 3; ++i) bytes += read_file(*text);
  const fs::path plain = folder.write("a.txt", bytes);
  PrepareOptions options;
  options.threads = 1;
  const PreparedData data = prepare(plain, folder.path() / "1", *tokenizer, options);
  const auto expected = tokens_of(data.train);
  CHECK(load_tokenizer(data.tokenizer)->decode(expected) ==
        bytes.substr(0, load_tokenizer(data.tokenizer)->decode(expected).size()));
  options.threads = 3;
  CHECK(tokens_of(prepare(plain, folder.path() / "3", *tokenizer, options).train) == expected);
  const auto small = prepare(plain, folder.path() / "s", *tokenizer + "shard_tokens = 100000\n");
  CHECK(small.train.size() == (expected.size() + 99'999) / 100'000);
  CHECK(tokens_of(small.train) == expected);
  for (const auto& [name, packed] :
       {std::pair{"a.txt.gz", gzip(bytes.substr(0, 2'000'000)) + gzip(bytes.substr(2'000'000))},
        std::pair{"a.txt.zst", zstd(bytes)}})
    CHECK(tokens_of(
              prepare(folder.write(name, packed), folder.path() / "packed", *tokenizer).train) ==
          expected);
}

TEST_CASE("prepare: every rule of validation") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "data";
  const fs::path file = folder.write("a.txt", "aa|bb|cc|dd|ee");
  const auto parts = [&](const std::string& more) {
    const PreparedData data = prepare(file, store, "separator = \"|\"\n" + more);
    return text_of(data.train) + "/" + text_of(data.validation);
  };
  CHECK(parts("validation_every = 2\n") == "aaccee/bbdd");
  CHECK(parts("validation_tokens = 3\n") == "bccddee/aab");
  CHECK(parts("validation_fraction = 0.3\n") == "aabbccd/dee");
  CHECK(parts("validation_fraction = 0.0\n") == "aabbccddee/");
  const fs::path other = folder.write("b.txt", "xx|yy");
  CHECK(parts("validation = '" + other.string() + "'\n") == "aabbccddee/xxyy");
  CHECK(complaint(file, store, "validation_every = 2\nvalidation_fraction = 0.5\n") ==
        "'validation_fraction' and 'validation_every' both choose what is kept for validation");
}

TEST_CASE("prepare: documents that end just where a shard or a part does") {
  const TemporaryFolder folder;
  const auto shards = [&](const std::string& text, const std::string& more) {
    const PreparedData data = prepare(folder.write("a.txt", text), folder.path() / "data",
                                      "separator = \"|\"\nshard_tokens = 3\n" + more);
    std::string found;
    for (const auto* part : {&data.train, &data.validation}) {
      for (const TokenShard& shard : *part) found += "[" + text_of({shard}) + "]";
      found += part == &data.train ? "/" : "";
    }
    return found;
  };
  const std::string all = "validation_fraction = 0.0\n";
  CHECK(shards("abc", all) == "[abc]/");
  CHECK(shards("abc|", all) == "[abc]/");
  CHECK(shards("abc|def|gh", all) == "[abc][def][gh]/");
  CHECK(shards("a|bc|defg|hi", all) == "[abc][def][ghi]/");
  CHECK(shards("abc|def", "validation_every = 2\n") == "[abc]/[def]");
  CHECK(shards("abc|def", "validation_tokens = 3\n") == "[def]/[abc]");
  CHECK(shards("abc|defghi", "validation_tokens = 6\n") == "[ghi]/[abc][def]");
  CHECK(shards("abc|def", "validation_fraction = 0.5\n") == "[abc]/[def]");
  CHECK(shards("ab|c|def|ghi", "validation_fraction = 0.34\n") == "[abc][de]/[fgh][i]");
  CHECK(shards("abc|def|ghi|", "validation_fraction = 0.3\n") == "[abc][def]/[ghi]");
}

TEST_CASE("prepare: of texts and records together the last bytes are for validation") {
  const TemporaryFolder folder;
  folder.write("a.txt", std::string(100, 'a'));
  std::string records;
  for (int i = 0; i < 10; ++i) records += "{\"text\":\"b\"}  \n";  // 12 bytes each
  folder.write("b.jsonl", records);
  const PreparedData data =
      prepare(folder.path() / "*", folder.path() / "data", "validation_fraction = 0.3\n");
  CHECK(text_of(data.train) == std::string(100, 'a') + "bbbbb");  // floor(0.7 * 220) = 154
  CHECK(text_of(data.validation) == "bbbbb");
}

TEST_CASE("prepare: characters are counted alike wherever words of eight bytes begin") {
  const std::string text = "a\u00e9\u4e2d\U0001f600bcdefgh\u00e9\u00e9\u00e9\u00e9ij";
  for (size_t begin = 0; begin < text.size(); ++begin)
    for (size_t end = begin; end <= text.size(); ++end) {
      int64_t expected = 0;
      for (size_t i = begin; i < end; ++i)
        expected += (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
      CHECK(units_in(std::string_view(text).substr(begin, end - begin), true) == expected);
    }
}

TEST_CASE("prepare: an empty document is in the part that it stands in") {
  const auto tokenizer = gpt2_keys();
  if (!tokenizer) return;
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", "||a||b|c||d|");
  const PreparedData data = prepare(file, folder.path() / "data",
                                    *tokenizer + "separator = \"|\"\nvalidation_fraction = 0.5\n");
  constexpr int64_t kEnd = 50256, kA = 64, kB = 65, kC = 66, kD = 67;
  CHECK(tokens_of(data.train) == std::vector<int64_t>{kEnd, kEnd, kEnd, kA, kEnd, kEnd, kB});
  CHECK(tokens_of(data.validation) == std::vector<int64_t>{kEnd, kC, kEnd, kEnd, kD});
}

TEST_CASE("prepare: a long document is one in each part, if it is cut just at the border too") {
  const TemporaryFolder folder;
  const auto pieces_of = [&](const std::string& text) {
    const RawSource source{{folder.write("a.txt", text), {}, false}, Split::train};
    const auto cut = [](std::string_view bytes) { return bytes.size(); };
    const ChunkOptions options{{"text", "|", false, cut},
                               {0, static_cast<int64_t>(kChunkBytes), false}};
    std::string pieces;
    read_chunks({source}, options, [&](const Chunk& chunk) {
      for (const Piece& piece : chunk.pieces)
        pieces += std::string(piece.begins ? "<" : "") + (piece.split == Split::train ? "t" : "v") +
                  std::to_string(piece.size) + (piece.ends ? "> " : " ");
    });
    return pieces;
  };
  const std::string half(kChunkBytes, 'a');
  CHECK(pieces_of(half + "a") == "<t262144> <v1> ");
  CHECK(pieces_of(half + "|a") == "<t262144> <v1> ");
  CHECK(pieces_of(half + "||a") == "<t262144> <v0> <v1> ");
  CHECK(pieces_of("b" + half + half + "|") == "<t262144> <v262144 v1> ");
}

TEST_CASE("prepare: documents of nothing are divided among chunks") {
  const TemporaryFolder folder;
  const RawSource source{{folder.write("a.txt", std::string(100'000, '|')), {}, false},
                         Split::train};
  ChunkOptions options;
  options.records = {"text", "|", false, [](std::string_view bytes) { return bytes.size(); }};
  size_t pieces = 0;
  read_chunks({source}, options, [&](const Chunk& chunk) {
    CHECK(chunk.first_place == static_cast<int64_t>(pieces) + 1);
    CHECK(chunk.pieces.size() <= kChunkPieces);
    pieces += chunk.pieces.size();
  });
  CHECK(pieces == 100'000);
}

TEST_CASE("prepare: a separator that is kept belongs to the document before it") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", "a||b||");
  const std::string rule = "separator = \"||\"\nvalidation_every = 2\n";
  const PreparedData data = prepare(file, folder.path() / "data", rule + "keep_separator = true\n");
  CHECK(text_of(data.train) == "a||");
  CHECK(text_of(data.validation) == "b||");
}

TEST_CASE(
    "prepare: JSON Lines and JSON are filled in a template, and their mistakes have a place") {
  const TemporaryFolder folder;
  const std::string rule =
      "template = \"Q {q}: {a};\"\nfallback_template = \"A {a};\"\nvalidation_fraction = 0.0\n";
  const std::string records[] = {R"({"q": "x]\"", "a": 1})", R"({"q": "", "a": "\u00e9"})"};
  const fs::path lines = folder.write("a.jsonl", records[0] + "\n\n" + records[1]);
  const fs::path array = folder.write("a.json", " [" + records[0] + ", " + records[1] + "\n] ");
  for (const fs::path& file : {lines, array})
    CHECK(text_of(prepare(file, folder.path() / "data", rule).train) == "Q x]\": 1;A \u00e9;");

  const auto message = [&](const std::string& name, const std::string& bytes,
                           const std::string& more = "") {
    const fs::path file = folder.write(name, bytes);
    std::string text = complaint(file, folder.path() / "bad", "validation_fraction = 0.0\n" + more);
    const auto at = text.find(file.string());
    return at == std::string::npos ? text : text.replace(at, file.string().size(), "FILE");
  };
  CHECK(message("b.jsonl", "{\"text\": \"a\"}\n{\"a\": 1, \"b\": 2}\n") ==
        "record 2 of 'FILE' (line 2) has no field 'text'; it has 'a', 'b'"
        "; dataset.template says which fields are read");
  CHECK(message("b.jsonl", "{\"text\": \"a\"}\n[1]\n") ==
        "record 2 of 'FILE' (line 2) is not a JSON object");
  CHECK(message("b.jsonl", "{\"text\": \"a\"}\n{\"text\":")
            .starts_with("record 2 of 'FILE' (line 2) is not JSON: "));
  CHECK(message("b.jsonl", "   {\"text\": x}")
            .starts_with("record 1 of 'FILE' (line 1) is not JSON: parse error at column 10 of "
                         "the record: syntax error "));
  CHECK(message("b.json", "[\n{\"text\": \"a\"},\n {\n  x}]")
            .starts_with("record 2 of 'FILE' is not JSON: parse error at line 2, column 3 of "
                         "the record: syntax error "));
  CHECK(message("b.jsonl", "\n{\"text\": \"a\"}\n \r\n\n[1]\n") ==
        "record 2 of 'FILE' (line 5) is not a JSON object");
  CHECK(message("b.json", "[{\"text\": \"a\"},\n1]") == "record 2 of 'FILE' is not a JSON object");
  CHECK(message("b.jsonl", "{}", "template = \"a{b\"\n") ==
        "template: '{' at character 2 does not begin a field; write {{ for a literal {");
  CHECK(message("b.txt.gz", gzip(std::string(5000, 'a')).substr(0, 30)) ==
        "'FILE' is a damaged gzip file (it ends early); download or create it again");
  CHECK(message("b.zst", zstd(std::string(5000, 'a')).substr(0, 15)) ==
        "'FILE' is a damaged zstd file (it ends early); download or create it again");
}

TEST_CASE("prepare: Alpaca in the guide's way, whole blocks of each thousand records") {
  const auto file = fixture("data/alpaca_format.json");
  const auto tokenizer = gpt2_keys();
  if (!file || !tokenizer) return;
  const TemporaryFolder folder;
  const std::string rule = *tokenizer +
                           "template = \"{instruction}\\n{output}\"\nend_of_text = \"none\"\n"
                           "validation_fraction = 0.0\n";
  auto all = tokens_of(prepare(*file, folder.path(), rule).train);
  const auto blocks = [&](int documents) {
    return tokens_of(
        prepare(*file, folder.path(),
                rule + "block_tokens = 1024\nblock_documents = " + std::to_string(documents) + "\n")
            .train);
  };
  all.resize(all.size() / 1024 * 1024);
  CHECK(blocks(0) == all);
  // Each group loses its own rest.
  const auto bpe = load_tokenizer(prepare(*file, folder.path(), rule).tokenizer);
  const auto records = nlohmann::json::parse(read_file(*file));
  std::vector<int64_t> expected;
  size_t begin = 0;  // of the group
  for (size_t i = 0; i < records.size(); ++i) {
    for (const uint32_t token : bpe->encode(records[i]["instruction"].get<std::string>() + "\n" +
                                            records[i]["output"].get<std::string>()))
      expected.push_back(token);
    if ((i + 1) % 1000 != 0 && i + 1 != records.size()) continue;
    expected.resize(begin + (expected.size() - begin) / 1024 * 1024);
    begin = expected.size();
  }
  CHECK(blocks(1000) == expected);
}

TEST_CASE("prepare: what stands in packed blocks, by every rule of validation") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", "abc|defgh|ij|klmnopq");
  const auto parts = [&](const std::string& more) {
    const PreparedData data =
        prepare(file, folder.path() / "data", "separator = \"|\"\nblock_tokens = 4\n" + more);
    return text_of(data.train) + "/" + text_of(data.validation);
  };
  const std::string all = "validation_fraction = 0.0\n", by_two = "block_documents = 2\n";
  CHECK(parts(all) == "abcdefghijklmnop/");
  CHECK(parts(all + by_two) == "abcdefghijklmnop/");
  CHECK(parts(all + "block_documents = 1\n") == "defgklmn/");
  CHECK(parts(all + "block_documents = 3\n") == "abcdefghklmn/");
  CHECK(parts("validation_tokens = 4\n") == "efghijklmnop/abcd");
  CHECK(parts("validation_tokens = 8\nblock_documents = 3\n") == "klmn/abcdefgh");
  CHECK(parts("validation_every = 2\n") == "abci/defghklmnopq");
  CHECK(parts("validation_fraction = 0.6\n") == "abcd/ghijklmn");
}

TEST_CASE("prepare: killed at any moment it goes on, and the tokens are the same" *
          doctest::test_suite("slow")) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; text.size() < 6'000'000; ++i) text += "line " + std::to_string(i) + "|";
  const fs::path file = folder.write("a.txt", text);
  const std::string rule =
      kBytes + "separator = \"|\"\nvalidation_every = 7\nshard_tokens = 1000000\n";
  PrepareOptions options;
  options.threads = 2;
  options.save_seconds = 0;
  const auto whole = prepare(file, folder.path() / "whole", rule, options);
  const fs::path store = folder.path() / "killed";
  int kills = 0, gone_on = 0;
  for (int delay = 2000;; delay += delay / 2) {
    const pid_t child = ::fork();
    if (child == 0) {
      prepare(file, store, rule, options);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(delay));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    for (const auto& entry : fs::directory_iterator(fs::exists(store) ? store : folder.path())) {
      if (entry.path().filename().string().size() == 32)
        CHECK_FALSE(manifest_problem(entry.path(), Verify::hashes));
      gone_on += fs::exists(entry.path() / "progress.json");
    }
    if (WIFEXITED(status)) break;
    ++kills;
  }
  CHECK(kills > 2);
  CHECK(gone_on > 0);
  const auto data = prepare(file, store, rule, options);
  CHECK(tokens_of(data.train) == tokens_of(whole.train));
  CHECK(tokens_of(data.validation) == tokens_of(whole.validation));
}

TEST_CASE("prepare: a document that the border divides is counted once") {
  const TemporaryFolder folder;
  const auto documents = [&](const std::string& text, const std::string& more) {
    const fs::path file = folder.write("a.txt", text);
    return prepare(file, folder.path() / "data", more).made_from["documents"].get<int64_t>();
  };
  CHECK(documents("abcdefghij", "validation_fraction = 0.5\n") == 1);
  const std::string blocks(3'000'000, 'a');  // the border is in a later piece than the beginning
  CHECK(documents(blocks, "validation_fraction = 0.1\n") == 1);
  const std::string lines = "separator = \"\\n\"\nkeep_separator = true\n";
  CHECK(documents("abc\ndefghijk\nlm\n", lines + "validation_fraction = 0.5\n") == 3);
  CHECK(documents("abc\ndef\n", lines + "validation_fraction = 0.5\n") == 2);
  CHECK(documents("abc\ndef\n", lines + "validation_fraction = 0.0\n") == 2);
}

TEST_CASE("prepare: the same bytes are other data where their name says another format") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "data";
  const std::string records = "{\"text\": \"aa\"}\n{\"text\": \"bb\"}\n";
  const std::string rule = "validation_fraction = 0.0\nend_of_text = \"none\"\n";
  for (const auto& [name, text] :
       {std::pair("a.md", records), std::pair("a.jsonl", std::string("aabb")),
        std::pair("b.md", records), std::pair("b.ndjson", std::string("aabb"))}) {
    CAPTURE(name);
    const fs::path file = folder.write(name, records);
    CHECK(text_of(prepare(file, store, rule).train) == text);
    PrepareOptions options;
    options.folder = folder.path() / ("of " + std::string(name));
    CHECK(text_of(prepare(file, store, rule, options).train) == text);
  }
  CHECK(std::distance(fs::directory_iterator(store), {}) == 2);
}

TEST_CASE("prepare: texts are known by what they always were, records by how they become texts") {
  const auto identity = [](const char* name, const char* format) {
    const ResolvedRecipe recipe = recipe_with(name, std::string("format = \"") + format + "\"\n");
    return text_options(recipe.section("dataset")).identity({{{name, {}, false}}});
  };
  const auto known = [](const std::string& format) {
    return R"(text 4 {"block_documents":0,"block_tokens":0,"end_of_text":"auto","fallback_template":)"
           R"("","format":")" +
           format +
           R"(","keep_separator":false,"separator":"","shard_tokens":100000000,"template":"{text}",)"
           R"("tokenizer":"byte","validation_every":0,"validation_fraction":0.1,"validation_tokens":0})";
  };
  CHECK(identity("a.txt", "auto") == known("auto"));
  CHECK(identity("a.jsonl", "text") == known("text"));
  CHECK(identity("a.jsonl", "auto") == known("auto") + " json_lines records 2");
  CHECK(identity("a.txt", "json") == known("json") + " records 2");
}

TEST_CASE("prepare: the version of Unicode is part of data whose words PCRE2 finds") {
  const auto identity = [](const std::string& tokenizer) {
    const ResolvedRecipe recipe = recipe_with(
        "a.txt", "tokenizer = \"" + tokenizer + "\"\nvocabulary = \"tokenizer.json\"\n");
    return text_options(recipe.section("dataset")).identity({{{"a.txt", {}, false}}});
  };
  REQUIRE(unicode_version().size() >= 5);  // 9.0.0
  CHECK(identity("huggingface").ends_with(" Unicode " + unicode_version()));
  CHECK(identity("gpt2").find("Unicode") == std::string::npos);
}

TEST_CASE("prepare: what was begun in chunks of another size is begun anew") {
  const std::pair<size_t, size_t> cuts[] = {{1, kChunkPieces}, {kChunkBytes, 1}};
  for (const auto& [bytes, pieces] : cuts) {
    const TemporaryFolder folder;
    const fs::path file = folder.write("a.txt", "abcd");
    const std::string rule = "validation_fraction = 0.0\n";
    PrepareOptions options;
    options.folder = folder.path() / "mine";
    const ResolvedRecipe recipe = recipe_with(file, rule);
    const auto sources = raw_sources(*recipe.find("dataset")->as<Table>(), "");
    const InputFiles inputs(sources, {}, text_options(recipe.section("dataset")).identity(sources));
    const nlohmann::json split = {{"shards", 0}, {"open", 0}};
    const auto none = nlohmann::json::array();
    const nlohmann::json one_chunk = {{"key", inputs.key()},
                                      {"cut_bytes", bytes},
                                      {"cut_pieces", pieces},
                                      {"chunks", 1},
                                      {"documents", 1},
                                      {"text_bytes", 1},
                                      {"shards",
                                       {{"train", split},
                                        {"validation", split},
                                        {"begun", {none, none}},
                                        {"documents", {0, 0}}}}};
    folder.write("mine.partial/progress.json", one_chunk.dump());
    CHECK(text_of(prepare(file, folder.path() / "data", rule, options).train) == "abcd");
  }
}

TEST_CASE("prepare: an output directory is made once, and stays when its source changes") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", "abcd");
  PrepareOptions options;
  options.folder = folder.path() / "mine";
  const auto rule = "validation_fraction = 0.0\n";
  CHECK(text_of(prepare(file, folder.path() / "data", rule, options).train) == "abcd");
  const auto written = fs::last_write_time(options.folder / "train_000000.bin");
  prepare(file, folder.path() / "data", rule, options);
  CHECK(fs::last_write_time(options.folder / "train_000000.bin") == written);
  folder.write("a.txt", "abcde");
  CHECK_THROWS_AS(prepare(file, folder.path() / "data", rule, options), Error);
  CHECK(fs::last_write_time(options.folder / "train_000000.bin") == written);
  options.folder = folder.path() / "other";
  CHECK(text_of(prepare(file, folder.path() / "data", rule, options).train) == "abcde");
}

TEST_CASE("prepare: files known by their times are not read again, and a change in place is seen" *
          doctest::test_suite("slow")) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("a.txt", "abcd");
  const fs::path store = folder.path() / "data";
  const auto rule = "validation_fraction = 0.0\n";
  prepare(file, store, rule);
  CHECK_FALSE(fs::exists(store / ".known"));  // it changed just now, and might again
  ::sleep(5);
  const auto first = prepare(file, store, rule);
  REQUIRE(std::distance(fs::directory_iterator(store / ".known"), {}) == 1);
  CHECK(prepare(file, store, rule).to_json() == first.to_json());
  folder.write("a.txt", "abce");
  CHECK(text_of(prepare(file, store, rule).train) == "abce");
  fs::remove_all(store / first.fingerprint);  // what is known but gone is made again
  folder.write("a.txt", "abcd");
  CHECK(text_of(prepare(file, store, rule).train) == "abcd");
}

TEST_CASE(
    "prepare: sets of other texts are not read, if they were copied without their times too") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "data";
  const PreparedData large =
      prepare(folder.write("a.txt", std::string(4 << 20, 'a')), store, kBytes);
  const fs::path shard = large.train[0].path;
  fs::last_write_time(shard, fs::last_write_time(shard) + std::chrono::seconds(1));
  const auto before = bytes_touched();
  prepare(folder.write("b.txt", "another text"), store, kBytes);
  if (before) CHECK(bytes_touched().value() - *before < 4 << 20);
}

TEST_CASE(
    "prepare: data that were made of other files with the same text name the files asked for") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "data";
  const auto path_of = [&](const PreparedData& data) {
    return data.made_from["files"][0]["path"].get<std::string>();
  };
  const fs::path first = folder.write("a.txt", "same text"),
                 second = folder.write("b.txt", "same text");
  const PreparedData made = prepare(first, store, kBytes);
  PreparedData found = prepare(second, store, kBytes);
  CHECK(path_of(made) == first);
  CHECK(path_of(found) == second);
  found.made_from = made.made_from;
  CHECK(found.to_json() == made.to_json());
  CHECK(path_of(prepare(first, store, kBytes)) == first);
}
