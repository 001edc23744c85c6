#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/random.h"
#include "support/byte_level.h"
#include "support/fixtures.h"
#include "support/temporary_folder.h"
#include "text/bpe/bpe_tokenizer.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/bpe/merge_word.h"

using namespace exprun;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<int64_t> as_ids(const Tokens& tokens) {
  return {tokens.begin(), tokens.end()};
}

std::string round_trip(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.decode(as_ids(tokenizer.encode(text)));
}

const Tokenizer* gpt2() {
  static const auto files = fixture("data/vocab.bpe");
  static const auto tokenizer = files ? load_bpe_tokenizer(*files) : nullptr;
  return tokenizer.get();
}

// 256 bytes, then one token a merge, then <|endoftext|>; as vocab.bpe and encoder.json.
fs::path small_vocabulary(const TemporaryFolder& folder,
                          const std::vector<std::pair<std::string, std::string>>& merges) {
  json ids = json::object();
  for (int byte = 0; byte < 256; ++byte)
    ids[byte_alphabet(std::string(1, static_cast<char>(byte)))] = byte;
  std::string lines = "#version: 0.2\n";
  for (const auto& [left, right] : merges) {
    ids[byte_alphabet(left + right)] = ids.size();
    lines += byte_alphabet(left) + " " + byte_alphabet(right) + "\n";
  }
  ids["<|endoftext|>"] = ids.size();
  folder.write("encoder.json", ids.dump());
  folder.write("vocab.bpe", lines);
  return folder.path();
}

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Byte pair encoding as it is defined, one merge at a time.
Tokens merged_plainly(const MergeTable& table, Tokens tokens) {
  for (;;) {
    MergeTable::Rank best = MergeTable::kNone;
    size_t place = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i)
      if (const auto rank = table.find(tokens[i], tokens[i + 1]); rank < best)
        best = rank, place = i;
    if (best == MergeTable::kNone) return tokens;
    tokens[place] = table.token_of(best);
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(place) + 1);
  }
}

// Emoji sequences, combining marks, other scripts, contractions, runs of spaces, NUL, broken UTF-8.
std::string hard_text() {
  std::string text =
      "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea "
      "e\u0301\u0323 "
      "\u0e01\u0e33 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 I'll we've you're he'd 'twas DON'T "
      "\u2019s \u4e2d\u6587\u3002 \u00bd \u0663\u0664 \t\n\n \r\n x\u00a0y \u2028";
  text += std::string(300, ' ') + "a" + std::string(70, '\n') + std::string(1, '\0') +
          "\xff\xc3(\xed\xa0\x80";
  return text + std::string(200, '=') + "\xf0\x9f";
}

}  // namespace

TEST_CASE("BPE: merges go by rank, the leftmost first, and bytes are never lost") {
  const TemporaryFolder folder;
  const auto tokenizer = load_bpe_tokenizer(
      small_vocabulary(folder, {{"b", "c"}, {"a", "b"}, {"a", "a"}, {"bc", "d"}, {" ", "a"}}));
  CHECK(tokenizer->vocab_size() == 262);
  CHECK(tokenizer->encode("abcd") == Tokens{'a', 259});
  CHECK(tokenizer->encode("aaab") == Tokens{258, 257});
  CHECK(tokenizer->encode("aaaa") == Tokens{258, 258});
  CHECK(tokenizer->encode("x a") == Tokens{'x', 260});
  CHECK(tokenizer->end_of_text() == 261u);
  CHECK(tokenizer->encode("a<|endoftext|>").size() > 3);
  CHECK(tokenizer->encode_with_special("a<|endoftext|>bc") == Tokens{'a', 261, 256});
  CHECK(round_trip(*tokenizer, hard_text()) == hard_text());
  CHECK(tokenizer->decode(std::vector<int64_t>{-1, 261, 262}) == "\ufffd<|endoftext|>\ufffd");
}

TEST_CASE("BPE: words of any length are merged as the definition says") {
  for (const uint32_t ways : {1, 3}) {  // to make a token, as in a tiktoken file
    std::vector<BpeMerge> merges;
    for (uint32_t rank = 0; rank < 60; ++rank)
      for (uint32_t way = 0; way < ways; ++way)
        merges.push_back({static_cast<uint32_t>(random_below(4 + rank, {1, rank, way})),
                          static_cast<uint32_t>(random_below(4 + rank, {2, rank, way})), 4 + rank,
                          rank});
    const MergeTable table(merges);
    for (uint64_t seed = 0; seed < 600; ++seed) {
      Tokens tokens(1 + random_below(200, {3, seed}));
      for (size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<uint32_t>(random_below(4, {4, seed, i}));
      Tokens expected = merged_plainly(table, tokens);
      merge_word(table, tokens);
      REQUIRE(tokens == expected);
    }
  }
}

TEST_CASE("BPE: ids and ranks as high as they may be") {
  constexpr uint32_t kId = kMostTokens - 1, kRank = kMostMerges - 1;
  const std::vector<BpeMerge> merges{
      {kId, kId - 1, 7, kRank}, {kId - 1, kId, kId, kRank - 1}, {kId, kId - 1, 8, 0}};
  const MergeTable table(merges);
  CHECK(table.find(kId, kId) == MergeTable::kNone);  // not a free slot
  CHECK(table.find(kId, kId - 1) == kRank);          // of a pair that is there twice the first
  for (const size_t size : {2, 8, 9, 10, 63, 64, 65, 66}) {
    CAPTURE(size);
    Tokens tokens(size, kId - 1);
    tokens.back() = kId;  // takes in what is before it, one by one
    merge_word(table, tokens);
    CHECK(tokens == Tokens{kId});
    tokens.assign(size, kId);
    tokens.back() = kId - 1;
    Tokens last(size - 1, kId);
    last.back() = 7;
    merge_word(table, tokens);
    CHECK(tokens == last);
    tokens.assign(size, kId);
    merge_word(table, tokens);
    CHECK(tokens == Tokens(size, kId));
  }
}

TEST_CASE("BPE: words of every number of tokens, behind as many as are put by") {
  const TemporaryFolder folder;
  const auto tokenizer = load_bpe_tokenizer(small_vocabulary(folder, {{" ", "a"}}));
  for (const size_t before : {0, 2030, 2031, 2032, 2033, 2034, 2046, 2047, 2048, 2049})
    for (const size_t size : {1, 3, 4, 15, 16, 31, 32, 500, 2000, 2048, 2049, 5000}) {
      CAPTURE(before);
      CAPTURE(size);
      std::string text;
      for (size_t i = 0; i < before; ++i) text += " a";
      Tokens tokens(before, 256);
      for (int twice = 0; twice < 2; ++twice) {
        text += std::string(size, '1') + " a";
        tokens.insert(tokens.end(), size, '1');
        tokens.push_back(256);
      }
      REQUIRE(tokenizer->encode(text) == tokens);
    }
}

TEST_CASE("BPE: nothing is read behind a text") {  // ASan sees it
  const TemporaryFolder folder;
  const json words = in_sequence({split_at(" ?b+"), byte_level(false)});
  const auto by_pattern = folder.write("tokenizer.json", small_tokenizer(words).dump());
  for (const fs::path& file : {small_vocabulary(folder, {{" ", "a"}}) / "vocab.bpe", by_pattern}) {
    const auto tokenizer = load_bpe_tokenizer(file);
    for (size_t size = 1; size < 100; ++size) {
      const std::unique_ptr<char[]> text(new char[size]);
      for (size_t i = 0; i < size; ++i) text[i] = i % 3 == 0 ? ' ' : 'b';
      CHECK(round_trip(*tokenizer, {text.get(), size}).size() == size);
    }
  }
}

TEST_CASE("BPE: a megabyte without a place to cut takes no quadratic time") {
  const TemporaryFolder folder;
  const auto tokenizer = load_bpe_tokenizer(
      small_vocabulary(folder, {{"a", "a"}, {"aa", "aa"}, {" ", " "}, {"  ", "  "}}));
  CHECK(tokenizer->encode(std::string(1 << 20, 'a')) == Tokens(1 << 18, 257));
  CHECK(tokenizer->encode(std::string(1 << 20, ' ')) == Tokens(1 << 18, 259));
}

TEST_CASE("BPE: GPT-2 gives the tokens that everyone has") {
  if (!gpt2()) return;
  CHECK(gpt2()->encode("Hello, I'm a language model,") ==
        Tokens{15496, 11, 314, 1101, 257, 3303, 2746, 11});
  CHECK(gpt2()->vocab_size() == 50257);
  CHECK(gpt2()->end_of_text() == 50256u);
  CHECK(gpt2()->encode_with_special("<|endoftext|>") == Tokens{50256});
}

TEST_CASE("BPE: nanoGPT's counts of tinyshakespeare") {
  const auto file = fixture("data/tinyshakespeare.txt");
  if (!file || !gpt2()) return;
  const std::string text = read_file(*file);
  CHECK(gpt2()->encode(text.substr(0, 1'003'854)).size() == 301'966);
  CHECK(gpt2()->encode(text.substr(1'003'854)).size() == 36'059);
}

TEST_CASE("BPE: every token of GPT-2 is what its own bytes become") {
  if (!gpt2()) return;
  // A word of several GPT-2 words (a token with spaces inside) is none that any text becomes.
  const auto encoder = gpt2()->make_encoder();
  int lone = 0;
  for (int64_t id = 0; id < 50256; ++id) {
    Tokens encoded;
    TokenList list(encoded);
    encoder->encode(gpt2()->decode(std::vector<int64_t>{id}), list);
    const auto tokens = as_ids(encoded);
    lone += tokens == std::vector<int64_t>{id};
    REQUIRE(gpt2()->decode(tokens) == gpt2()->decode(std::vector<int64_t>{id}));
  }
  CHECK(lone > 50'000);
}

TEST_CASE("BPE: decode(encode(x)) is x for random bytes, hard Unicode and whole texts") {
  if (!gpt2()) return;
  std::string bytes(300'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(random_bits({1, i}));
  CHECK(round_trip(*gpt2(), bytes) == bytes);
  CHECK(round_trip(*gpt2(), hard_text()) == hard_text());
  for (const char* name : {"data/wikitext2_valid.txt", "data/tinyshakespeare.txt"})
    if (const auto file = fixture(name))
      CHECK(round_trip(*gpt2(), read_file(*file)) == read_file(*file));
}

TEST_CASE("BPE: cut at safe places, the tokens are the same") {
  const auto file = fixture("data/wikitext2_valid.txt");
  if (!file || !gpt2()) return;
  const std::string text = read_file(*file).substr(0, 200'000) + hard_text();
  const Tokens whole = gpt2()->encode(text);
  for (const size_t size : {50, 1'000, 65'536}) {
    const auto encoder = gpt2()->make_encoder();
    Tokens tokens;
    TokenList list(tokens);
    for (std::string_view rest = text; !rest.empty();) {
      size_t cut = 0;
      for (size_t more = size; cut == 0; more *= 2)
        cut = more < rest.size() ? gpt2()->safe_cut(rest.substr(0, more)) : rest.size();
      encoder->encode(rest.substr(0, cut), list);
      rest.remove_prefix(cut);
    }
    CHECK(tokens == whole);
  }
}

namespace {

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

json huggingface(const json& pre_tokenizer) {
  const auto merges = fixture("data/vocab.bpe"), ids = fixture("data/encoder.json");
  json lines = json::array();
  std::istringstream text(read_file(*merges));
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) lines.push_back(line);
  return {{"normalizer", nullptr},
          {"pre_tokenizer", pre_tokenizer},
          {"added_tokens", {{{"id", 50256}, {"content", "<|endoftext|>"}, {"special", true}}}},
          {"model", {{"type", "BPE"}, {"vocab", json::parse(read_file(*ids))}, {"merges", lines}}}};
}

const json kByteLevel = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};

}  // namespace

TEST_CASE("BPE: a tiktoken file and a tokenizer.json of GPT-2 give the same tokens") {
  const auto file = fixture("data/tinyshakespeare.txt");
  if (!file || !gpt2()) return;
  const TemporaryFolder folder;
  std::string ranks;
  for (int64_t id = 0; id < 50256; ++id)
    ranks += base64(gpt2()->decode(std::vector<int64_t>{id})) + " " + std::to_string(id) + "\n";
  const json split = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"},
         {"pattern",
          {{"Regex",
            "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| "
            "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+(?:)"}}},
         {"behavior", "Isolated"},
         {"invert", false}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  const std::string text = read_file(*file).substr(0, 300'000) + hard_text();
  const Tokens expected = gpt2()->encode(text);
  for (const fs::path& vocabulary :
       {folder.write("r50k_base.tiktoken", ranks),
        folder.write("a/tokenizer.json", huggingface(kByteLevel).dump()),
        folder.write("b/tokenizer.json", huggingface(split).dump())}) {
    const auto tokenizer = load_bpe_tokenizer(vocabulary);
    CHECK(tokenizer->encode(text) == expected);
    CHECK(tokenizer->vocab_size() == 50257);
    CHECK(tokenizer->end_of_text() == 50256u);
    CHECK(load_tokenizer(tokenizer->to_json())->encode("Hello") == Tokens{15496});
  }
}

TEST_CASE("BPE: what would give other tokens is refused by its name") {
  if (!gpt2()) return;
  const TemporaryFolder folder;
  const auto refused = [&](json tokenizer) {
    const fs::path file = folder.write("tokenizer.json", tokenizer.dump());
    const std::string text = complaint([&] { load_bpe_tokenizer(file); });
    const std::string head = "tokenizer: '" + file.string() + "' ";
    const std::string tail =
        "; exprun supports plain byte-level BPE (ByteLevel, with or without Split and Digits "
        "before it)";
    REQUIRE(text.starts_with(head));
    REQUIRE(text.ends_with(tail));
    return text.substr(head.size(), text.size() - head.size() - tail.size());
  };
  json tokenizer = huggingface(kByteLevel);
  tokenizer["normalizer"] = {{"type", "NFKC"}};
  CHECK(refused(tokenizer) == "has the normalizer NFKC");
  CHECK(refused(huggingface({{"type", "ByteLevel"}, {"add_prefix_space", true}})) ==
        "adds a space before every text");
  CHECK(refused(huggingface({{"type", "Whitespace"}})) == "has the pre_tokenizer Whitespace");
  tokenizer = huggingface(kByteLevel);
  tokenizer["model"]["byte_fallback"] = true;
  CHECK(refused(tokenizer) == "falls back to bytes");
}

TEST_CASE("BPE: lines of merges may be empty, and the last may have no end") {
  const TemporaryFolder folder;
  small_vocabulary(folder, {{"a", "b"}, {"ab", "c"}});
  for (const std::string lines :
       {"a b\nab c", "\n\na b\n\nab c\n\n", "#version: 0.2\na b\nab c\n"}) {
    CAPTURE(lines);
    folder.write("vocab.bpe", lines);
    CHECK(load_bpe_tokenizer(folder.path())->encode("abc ab") == Tokens{257, ' ', 256});
  }
}

TEST_CASE("BPE: tokens of any size are found as sides of merges") {
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> merges;
  for (size_t size = 1; size < 40; ++size) merges.emplace_back(std::string(size, 'a'), "a");
  for (size_t size = 1; size < 40; ++size) merges.emplace_back("b", std::string(size, 'a'));
  small_vocabulary(folder, merges);
  const BpeVocabulary vocabulary = read_bpe_vocabulary(vocabulary_files(folder.path()));
  REQUIRE(vocabulary.merges.size() == merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    CAPTURE(i);
    const BpeMerge& merge = vocabulary.merges[i];
    CHECK(vocabulary.tokens[merge.left] == merges[i].first);
    CHECK(vocabulary.tokens[merge.right] == merges[i].second);
    CHECK(vocabulary.tokens[merge.merged] == merges[i].first + merges[i].second);
    CHECK(merge.rank == i);
  }
}

TEST_CASE("BPE: damaged vocabularies are told") {
  const TemporaryFolder folder;
  small_vocabulary(folder, {{"a", "b"}});
  const std::string ids = read_file(folder.path() / "encoder.json");
  const auto message = [&] { return complaint([&] { load_bpe_tokenizer(folder.path()); }); };
  const std::string merges = "'" + (folder.path() / "vocab.bpe").string() + "'";
  const std::string encoder = "'" + (folder.path() / "encoder.json").string() + "'";

  folder.write("vocab.bpe", "#version: 0.2\na b\nb c\n");
  CHECK(message() ==
        "tokenizer: " + merges +
            " merges 'b' with 'c', but not all three have an id; fetch the file again, or "
            "use another vocabulary");
  folder.write("vocab.bpe", "# b\na b\n");  // no header
  CHECK(message().starts_with("tokenizer: " + merges + " merges '#' with 'b', but not all three"));
  folder.write("vocab.bpe", "#version: 0.2\nab\n");
  CHECK(message() ==
        "tokenizer: line 2 of " + merges + " is not a merge of two tokens; download it again");
  for (const std::string line : {"a ", " a", "a b c", "a b\r", "a  b"}) {
    CAPTURE(line);
    folder.write("vocab.bpe", "\na b\n\n" + line);
    CHECK(message() ==
          "tokenizer: line 4 of " + merges + " is not a merge of two tokens; download it again");
  }
  std::string many = "b c\n";
  for (int i = 0; i < 70; ++i) many = "a b\n" + many;
  folder.write("vocab.bpe", many + "ab\n");
  CHECK(message().starts_with("tokenizer: " + merges + " merges 'b' with 'c', but not all three"));
  folder.write("encoder.json", "{\"\\u0120a\": 0, \"b\": 1, \"\u0120a\": 2}");
  CHECK(message() ==
        "tokenizer: " + encoder +
            " has the token ' a' twice; fetch the file again, or use another vocabulary");
  folder.write("encoder.json", "{\"a\": 1, \"b\": 1}");
  CHECK(message() == "tokenizer: " + encoder +
                         " has the id 1 twice; fetch the file again, or use another vocabulary");
  folder.write("encoder.json", "{\"a\": 1, \"\\u0061\": 2, ");
  CHECK(message() ==
        "tokenizer: " + encoder + " is not a JSON object of tokens and ids; download it again");
  folder.write("encoder.json", "{");
  CHECK(message() ==
        "tokenizer: " + encoder + " is not a JSON object of tokens and ids; download it again");
  folder.write("vocab.bpe", "");
  folder.write("encoder.json", "{\"a\": 0}");
  CHECK(message() ==
        "tokenizer: " + encoder +
            " has no token for byte 0, so it is not a byte-level vocabulary; text could "
            "be lost");
  folder.write("encoder.json", ids.substr(0, ids.size() / 2));
  CHECK(message() ==
        "tokenizer: " + encoder + " is not a JSON object of tokens and ids; download it again");
  fs::remove(folder.path() / "encoder.json");
  CHECK(message() == "tokenizer: '" + folder.path().string() +
                         "' contains no vocabulary: neither vocab.bpe with encoder.json, nor "
                         "merges.txt with vocab.json, nor tokenizer.json, nor a .tiktoken file");
  const fs::path ranks = folder.write("x.tiktoken", "YQ== 0\nYg== 1\n");
  CHECK(complaint([&] { load_bpe_tokenizer(ranks); }) ==
        "tokenizer: '" + ranks.string() +
            "' has 2 ranks, but GPT-2 has 50,256; a tiktoken file does not say how text is split "
            "into words");
  folder.write("x.tiktoken", "YQ== 0\nYQ== 1\n");
  CHECK(complaint([&] { load_bpe_tokenizer(ranks); }) ==
        "tokenizer: '" + ranks.string() +
            "' has the token 'a' twice; fetch the file again, or use another vocabulary");
}
