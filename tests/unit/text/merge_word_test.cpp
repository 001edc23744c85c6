// Words that are merged in pieces have the tokens that they have as a whole.
#include "text/bpe/merge_word.h"

#include <doctest/doctest.h>

#include <string>

#include "base/files/file.h"
#include "base/random.h"
#include "support/fixtures.h"

using namespace exprun;

namespace {

// 256 bytes, then random merges of the first `letters`, their tokens and those that come of them.
BpeTables random_tables(uint64_t letters, uint64_t seed) {
  BpeVocabulary vocabulary;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    vocabulary.byte_tokens[byte] = byte;
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  const auto any = [&](uint32_t rank, uint64_t side) {
    const uint64_t id = random_below(letters + rank, {seed, rank, side});
    return static_cast<uint32_t>(id < letters ? id : 256 + id - letters);
  };
  for (uint32_t rank = 0; rank < 40; ++rank) {
    const BpeMerge merge{any(rank, 0), any(rank, 1), 256 + rank, rank};
    vocabulary.merges.push_back(merge);
    vocabulary.tokens.push_back(vocabulary.tokens[merge.left] + vocabulary.tokens[merge.right]);
  }
  return {vocabulary, TokenTable(vocabulary.tokens), MergeTable(vocabulary.merges)};
}

void check_word(const BpeTables& tables, const std::string& word) {
  Tokens whole;
  for (const char byte : word)
    whole.push_back(tables.byte_tokens[static_cast<unsigned char>(byte)]);
  merge_word(tables.merges, whole);
  whole.insert(whole.begin(), 7);         // of the word before
  for (const size_t unsure : {16, 1, 0})  // at last every joint that does not fit is met
    for (const size_t piece : {LongWord::kPieceBytes, size_t{8}, size_t{1}}) {
      CAPTURE(unsure);
      CAPTURE(piece);
      Tokens tokens{7};
      LongWord(tables, piece, unsure).encode(word, tokens);
      REQUIRE(tokens == whole);
    }
}

}  // namespace

TEST_CASE("long word: random words and merges give the tokens of the whole" *
          doctest::test_suite("exhaustive")) {
  for (const uint64_t letters : {1, 2, 3, 4})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(letters);
      CAPTURE(seed);
      const BpeTables tables = random_tables(letters, seed);
      std::string word(3 * LongWord::kPieceBytes + 300 * seed, '\0');
      for (size_t i = 0; i < word.size(); ++i)
        word[i] = static_cast<char>(random_below(letters, {seed, i}));
      check_word(tables, word);
    }
}

TEST_CASE("long word: one period over and over, of which a joint fits nowhere near") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const BpeTables tables = random_tables(3, seed);
    std::string period(1 + random_below(40, {seed, 1}), '\0'), word;
    for (size_t i = 0; i < period.size(); ++i)
      period[i] = static_cast<char>(random_below(3, {seed, i, 2}));
    while (word.size() < 5 * LongWord::kPieceBytes) word += period;
    check_word(tables, word);
  }
}

TEST_CASE("long word: GPT-2's merges, of any bytes") {
  const auto file = fixture("data/vocab.bpe");
  if (!file) return;
  const BpeTables tables = load_bpe_tables(*file);
  const std::string text = read_file(file->parent_path() / "wikitext2_valid.txt").substr(0, 60'000);
  check_word(tables, text);
  check_word(tables, std::string(50'001, 'a'));
  check_word(tables, std::string(50'001, ' '));
  check_word(tables, std::string(20'000, '\0') + std::string(20'000, '\xff') + text);
  std::string letters;
  for (size_t i = 0; i < 50'000; ++i) letters += "ACGT"[random_below(4, {i})];
  check_word(tables, letters);
}
