// GPT-2's words, cut by hand, against the same pattern in PCRE2.
#include "text/gpt2_pretokenizer.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/files/file.h"
#include "base/random.h"
#include "base/utf8.h"
#include "support/fixtures.h"
#include "text/pattern_pretokenizer.h"

using namespace exprun;

namespace {

std::vector<std::string_view> by_hand(std::string_view text) {
  const Gpt2Pretokenizer pretokenizer;
  std::vector<std::string_view> words;
  const char* const end = text.data() + text.size();
  for (const char* word = text.data(); word != end;) {
    const char* const behind = pretokenizer.end_of_word(word, end);
    words.emplace_back(word, static_cast<size_t>(behind - word));
    word = behind;
  }
  return words;
}

std::vector<std::string_view> by_pcre2(std::string_view text) {
  static const WordPattern pattern(kGpt2Pattern);
  static PatternPretokenizer pretokenizer(pattern);
  pretokenizer.start(text);
  std::vector<std::string_view> words;
  for (auto word = pretokenizer.next(); !word.empty(); word = pretokenizer.next())
    words.push_back(word);
  return words;
}

void require_equal(std::string_view text) {
  const auto expected = by_pcre2(text), words = by_hand(text);
  for (size_t i = 0; i < std::min(words.size(), expected.size()); ++i)
    REQUIRE_MESSAGE(words[i] == expected[i], "word " << i << " of " << text.substr(0, 200));
  REQUIRE(words.size() == expected.size());
}

// What the pattern tells apart: spaces of all widths, apostrophes, letters and numbers of one to
// four bytes, marks, emoji, broken UTF-8.
const std::vector<std::string> kPieces = {" ",
                                          " ",
                                          "  ",
                                          "\n",
                                          "\t",
                                          "\r\n",
                                          "\u00a0",
                                          "\u3000",
                                          "\u2028",
                                          "\u0085",
                                          "\u180e",
                                          "\u200b",
                                          "'",
                                          "'s",
                                          "'S",
                                          "'ll",
                                          "'l",
                                          "'ve",
                                          "'re",
                                          "'d",
                                          "'m",
                                          "'t",
                                          "\u2019s",
                                          "a",
                                          "Zz",
                                          "\u00e9",
                                          "\u4e2d\u6587",
                                          "\u0301",
                                          "\U0001f468\u200d\U0001f469",
                                          "\U00010400",
                                          "7",
                                          "42",
                                          "\u0663",
                                          "\u00bd",
                                          "\u216b",
                                          "\U0001d7d8",
                                          "!",
                                          "...",
                                          "_",
                                          "\u3002",
                                          std::string(1, '\0'),
                                          "\x1c",
                                          "\xff",
                                          "\xc3",
                                          "\xe4\xb8",
                                          "\xed\xa0\x80",
                                          "\xf4\x90\x80\x80",
                                          "\xc0\xaf"};

std::string random_text(uint64_t seed) {
  std::string text;
  const uint64_t pieces = 1 + random_below(24, {seed, 0});
  for (uint64_t i = 0; i < pieces; ++i) text += kPieces[random_below(kPieces.size(), {seed, 1, i})];
  return text;
}

}  // namespace

TEST_CASE("GPT-2's words: as PCRE2 finds them in other projects' texts") {
  for (const char* name : {"data/tinyshakespeare.txt", "data/wikitext2_valid.txt",
                           "data/alpaca_format.json", "data/hellaswag_val_250.jsonl"})
    if (const auto file = fixture(name)) require_equal(read_file(*file));
}

TEST_CASE("GPT-2's words: as PCRE2 finds them in 40,000 hard texts") {
  for (uint64_t seed = 0; seed < 40'000; ++seed) require_equal(random_text(seed));
}

TEST_CASE("GPT-2's words: as PCRE2 finds them around random bytes") {
  std::string bytes(200'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(random_bits({7, i}));
  require_equal(bytes);
}

// Debian 12's PCRE2 has Unicode 14, the table 16: characters that PCRE2 does not know are left out.
TEST_CASE("GPT-2's words: every character is of the class that PCRE2 gives it") {
  std::string all, compared;
  for (char32_t c = 1; c < 0x110000; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    append_code_point(all += '!', c);
    all += ';';
  }
  const WordPattern assigned("!\\P{Cn}");
  PatternPretokenizer pretokenizer(assigned);
  pretokenizer.start(all);
  int count = 0;
  for (auto word = pretokenizer.next(); !word.empty(); word = pretokenizer.next()) {
    if (word.ends_with(';')) continue;  // what lies between two matches
    const std::string character(word.substr(1));
    compared += "a" + character + "1" + character + "! " + character + character + ";";
    ++count;
  }
  require_equal(compared);
  CHECK(count > 280'000);
}

TEST_CASE("GPT-2's words: a certain end is one whatever stands before and behind") {
  const Gpt2Pretokenizer pretokenizer;
  int certain = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    const std::string text = random_text(seed);
    const size_t cut = pretokenizer.last_certain_end(text);
    certain += cut > 0;
    const std::string around = random_text(seed + 1'000'000) + text + random_text(seed + 2'000'000);
    const size_t place = around.size() - random_text(seed + 2'000'000).size() - text.size() + cut;
    if (cut == 0) continue;
    size_t end = 0;
    bool is_end = false;
    for (const auto word : by_hand(around)) is_end |= (end += word.size()) == place;
    REQUIRE(is_end);
  }
  CHECK(certain > 15'000);
}
