// Words are found as they were kept, until others take their place.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>

#include "base/random.h"
#include "text/bpe/bpe_tokenizer.h"
#include "text/tokenizer.h"

using namespace exprun;

namespace {

using ShortWords = WordCache<2, 3, 4>;    // 8 words
using LongerWords = WordCache<4, 15, 4>;  // as many
static_assert(ShortWords::kMostBytes == 15 && LongerWords::kMostBytes == 31);

const Tokens kNone;

template <class Words>
typename Words::Key key_of(std::string word) {
  const size_t size = word.size();
  word.resize(Words::kReadBytes, '?');  // what follows in a text
  return Words::key_of(word.data(), size);
}

template <class Words>
Tokens known(Words& words, const std::string& word) {
  const auto* found = words.find(key_of<Words>(word));
  return found ? Tokens(found->tokens, found->tokens + found->count) : kNone;
}

// Two words that differ in one bit of one byte, or in a NUL at the end.
template <class Words>
std::pair<std::string, std::string> neighbours(uint64_t seed) {
  std::string word(1 + random_below(Words::kMostBytes, {seed, 0}), '\0');
  for (size_t i = 0; i < word.size(); ++i)
    word[i] = static_cast<char>(random_below(256, {seed, 1, i}));
  if (word.size() < Words::kMostBytes && random_below(4, {seed, 2}) == 0)
    return {word, word + '\0'};
  std::string other = word;
  other[random_below(word.size(), {seed, 3})] ^= static_cast<char>(1 << random_below(8, {seed, 4}));
  return {word, other};
}

}  // namespace

TEST_CASE_TEMPLATE("word cache: a word is its bytes and its length", Words, ShortWords,
                   LongerWords) {
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    CAPTURE(seed);
    Words words;
    const auto [word, other] = neighbours<Words>(seed);
    REQUIRE(known(words, word) == kNone);
    words.keep(key_of<Words>(word), Tokens{1});
    REQUIRE(known(words, word) == Tokens{1});
    REQUIRE(known(words, other) == kNone);
    words.keep(key_of<Words>(other), Tokens{2, 3, 4});
    REQUIRE(known(words, word) == Tokens{1});
    REQUIRE(known(words, other) == Tokens{2, 3, 4});
  }
}

TEST_CASE_TEMPLATE("word cache: of two words in one place the one met last stays", Words,
                   ShortWords, LongerWords) {
  Words words;
  std::map<std::string, Tokens> kept;
  size_t found = 0;
  for (uint32_t i = 0; i < 20000; ++i) {
    const std::string word = "word " + std::to_string(random_below(24, {i}));
    const Tokens tokens = known(words, word);
    if (tokens.empty()) {
      kept[word] = Tokens(1 + i % Words::kMostTokens, i);
      words.keep(key_of<Words>(word), kept[word]);
      REQUIRE(known(words, word) == kept[word]);
      continue;
    }
    ++found;
    REQUIRE(tokens == kept[word]);
    words.keep(key_of<Words>("another " + std::to_string(i % 100)), Tokens{i});
    REQUIRE(known(words, word) == tokens);
  }
  CHECK(found > 1000);
}
