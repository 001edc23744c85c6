// Words of the patterns of well-known tokenizers are the same, cut at certain places or not.
#include "text/pattern_pretokenizer.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "support/byte_level.h"
#include "support/temporary_folder.h"
#include "text/bpe/bpe_tokenizer.h"

using namespace exprun;

namespace {

std::vector<std::string> patterns() {
  std::vector<std::string> found;
  for (const KnownPattern& known : known_patterns())
    if (known.family == PatternFamily::cl100k) found.emplace_back(known.pattern);
  return found;
}

const std::vector<std::string> kPieces = {" ",
                                          " ",
                                          "  ",
                                          "\n",
                                          "\n",
                                          "\r\n",
                                          "\n\n",
                                          "\t",
                                          "\v",
                                          "\u00a0",
                                          "\u3000",
                                          "\u2028",
                                          "\u180e",
                                          "'",
                                          "'s",
                                          "'S",
                                          "'l",
                                          "l",
                                          "'re",
                                          "\u017f",
                                          "/",
                                          "//",
                                          "a",
                                          "Zz",
                                          "\u01c5",
                                          "\u00e9",
                                          "\u4e2d\u6587",
                                          "\u9fa5",
                                          "\u3001",
                                          "\u3002",
                                          "\uff0c",
                                          "\u0301",
                                          "\u02b0",
                                          "\U00010400",
                                          "7",
                                          "1234",
                                          "\u0663",
                                          "\u00bd",
                                          "!",
                                          "...",
                                          "_",
                                          "+",
                                          "\U0001f468",
                                          std::string(1, '\0'),
                                          "\xff",
                                          "\xc3",
                                          "\xe4\xb8",
                                          "\xed\xa0\x80"};

std::string random_text(uint64_t seed, uint64_t most) {
  std::string text;
  const uint64_t pieces = random_below(most, {seed, 0});
  for (uint64_t i = 0; i < pieces; ++i) text += kPieces[random_below(kPieces.size(), {seed, 1, i})];
  return text;
}

void add_words(PatternPretokenizer& pretokenizer, std::string_view text,
               std::vector<std::string>& words) {
  pretokenizer.start(text);
  for (auto word = pretokenizer.next(); !word.empty(); word = pretokenizer.next())
    words.emplace_back(word);
}

}  // namespace

TEST_CASE("known patterns: words are the same, cut at the last certain end or not") {
  REQUIRE(patterns().size() == 4);
  for (const std::string& pattern : patterns()) {
    const WordPattern compiled(pattern);
    PatternPretokenizer pretokenizer(compiled);
    int certain = 0;
    for (uint64_t seed = 0; seed < 20'000; ++seed) {
      const std::string text = random_text(seed, 12), behind = random_text(seed + 1'000'000, 6);
      const size_t cut = last_certain_end(text);
      if (cut == 0) continue;
      ++certain;
      std::vector<std::string> whole, parts;
      add_words(pretokenizer, text + behind, whole);
      add_words(pretokenizer, text.substr(0, cut), parts);
      add_words(pretokenizer, text.substr(cut) + behind, parts);
      REQUIRE(parts == whole);
    }
    CHECK(certain > 5'000);
  }
}

TEST_CASE("known patterns: ordinary texts have certain ends") {
  CHECK(last_certain_end("one two") == 3);
  CHECK(last_certain_end("a line.\nanother") == 8);
  CHECK(last_certain_end("base+64+text") == 4);
  CHECK(last_certain_end("\u4e2d\u6587\u3002\u4e2d\u6587") == 6);
  CHECK(last_certain_end("don't") == 0);
  CHECK(last_certain_end("   \n  \n ") == 0);
  CHECK(last_certain_end("") == 0);
}

TEST_CASE("known patterns: a tokenizer cuts where they say, one of an unknown pattern nowhere") {
  const TemporaryFolder folder;
  const auto cut_by = [&](const std::string& pattern) {
    const auto tokenizer = small_tokenizer(in_sequence({split_at(pattern), byte_level(false)}));
    return load_bpe_tokenizer(folder.write("tokenizer.json", tokenizer.dump()))
        ->safe_cut("one two three");
  };
  for (const std::string& pattern : patterns()) CHECK(cut_by(pattern) == 7);
  CHECK(cut_by(R"(\p{L}+|\s+)") == 0);
}
