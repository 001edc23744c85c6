// Words are found as they were kept, until others take their place.
#include "text/word_cache.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "base/random.h"
#include "text/tokenizer.h"

using namespace exprun;

namespace {

using Words = WordCache<2, 3, 4>;  // 8 words

const Tokens kNone;

Words::Key key_of(std::string word) {
  const size_t size = word.size();
  word.resize(Words::kReadBytes, '?');  // what follows in a text
  return Words::key_of(word.data(), size);
}

Tokens known(Words& words, const std::string& word) {
  const auto* found = words.find(key_of(word));
  return found ? Tokens(found->tokens, found->tokens + found->count) : kNone;
}

std::string random_word(uint64_t seed) {
  std::string word(1 + random_below(Words::kMostBytes, {seed, 0}), '\0');
  for (size_t i = 0; i < word.size(); ++i)
    word[i] = static_cast<char>(random_below(3, {seed, 1, i}) * 100);  // NUL and \xc8 too
  return word;
}

}  // namespace

TEST_CASE("word cache: a word is its bytes and its length") {
  Words words;
  const std::string nul(1, '\0');
  CHECK(known(words, nul) == kNone);
  words.keep(key_of("a"), Tokens{1});
  CHECK(known(words, "a") == Tokens{1});
  CHECK(known(words, "a" + nul) == kNone);
  CHECK(known(words, "ab") == kNone);
  words.keep(key_of(nul + nul), Tokens{2, 3, 4});
  CHECK(known(words, nul + nul) == Tokens{2, 3, 4});
  CHECK(known(words, nul) == kNone);
  words.keep(key_of("fifteen letters"), Tokens{5, 6});
  CHECK(known(words, "fifteen letters") == Tokens{5, 6});
  CHECK(known(words, "fifteen letterS") == kNone);
  CHECK(known(words, "fifteen") == kNone);
}

TEST_CASE("word cache: what is found was kept last, and of two words the one met last stays") {
  Words words;
  std::map<std::string, Tokens> kept;
  size_t found = 0;
  for (uint32_t i = 0; i < 20000; ++i) {
    const std::string word = random_word(random_below(24, {i}));
    const Tokens tokens = known(words, word);
    if (tokens.empty()) {
      kept[word] = Tokens(1 + i % Words::kMostTokens, i);
      words.keep(key_of(word), kept[word]);
      REQUIRE(known(words, word) == kept[word]);
      continue;
    }
    ++found;
    REQUIRE(tokens == kept[word]);
    words.keep(key_of("another " + std::to_string(i % 100)), Tokens{i});
    REQUIRE(known(words, word) == tokens);
  }
  CHECK(found > 1000);
}
