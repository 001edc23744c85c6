#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/random.h"
#include "base/utf8.h"
#include "text/char_tokenizer.h"

using namespace exprun;
using namespace std::string_literals;

namespace {

std::string through_json(const Tokenizer& tokenizer, const std::string& text) {
  const auto again = load_tokenizer(nlohmann::json::parse(tokenizer.to_json().dump()));
  const Tokens tokens = tokenizer.encode(text);
  return again->decode(std::vector<int64_t>(tokens.begin(), tokens.end()));
}

std::unique_ptr<Tokenizer> tokenizer_of_text(std::string_view text) {
  CharacterSet characters;
  characters.add(text);
  return make_char_tokenizer(characters.sorted());
}

// ASCII, two to four bytes, emoji joined by U+200D, a combining mark, NUL.
const std::string kHardText = "a\u00e9\u4e2d\U0001f468\u200d\U0001f4bbe\u0301\0b\n"s;

}  // namespace

TEST_CASE("byte tokenizer: any bytes come back") {
  const auto tokenizer = make_byte_tokenizer();
  CHECK(tokenizer->vocab_size() == 256);
  std::string bytes;
  for (uint64_t i = 0; i < 5000; ++i) bytes += static_cast<char>(random_below(256, {i}));
  CHECK(through_json(*tokenizer, bytes) == bytes);
  CHECK(through_json(*tokenizer, "") == "");
  CHECK(tokenizer->decode(std::vector<int64_t>{65, 256, -1}) == "A\ufffd\ufffd");
}

TEST_CASE("char tokenizer: characters are numbered in the order of their code points") {
  const auto tokenizer = tokenizer_of_text("ba\u4e2dab\u00e9");
  CHECK(tokenizer->vocab_size() == 4);
  CHECK(tokenizer->encode("ab\u00e9\u4e2d") == Tokens{0, 1, 2, 3});
  CHECK(tokenizer->decode(std::vector<int64_t>{3, 4, 0}) == "\u4e2d\ufffda");
}

TEST_CASE("char tokenizer: any text that it was made from comes back") {
  CHECK(through_json(*tokenizer_of_text(kHardText), kHardText) == kHardText);
}

TEST_CASE("char tokenizer: an unknown character is named") {
  const auto tokenizer = tokenizer_of_text("ab");
  CHECK_THROWS_WITH_AS(tokenizer->encode("a\u00e9"),
                       "'\u00e9' (U+00E9) is not one of the 2 characters that the tokenizer "
                       "knows",
                       UnknownCharacter);
  CHECK_THROWS_WITH_AS(tokenizer->encode("\n"),
                       "U+000A is not one of the 2 characters that the tokenizer knows",
                       UnknownCharacter);
}

TEST_CASE("char tokenizer: invalid UTF-8 is an error with its place") {
  for (const char* text :
       {"ab\xff", "ab\xc3", "ab\xc0\x80", "ab\xed\xa0\x80", "ab\xf4\x90\x80\x80"})
    CHECK_THROWS_WITH_AS(
        tokenizer_of_text(text),
        "char tokenizer: byte 2 of the text is not UTF-8; convert the text, or use "
        "tokenizer = \"byte\"",
        Error);
}

TEST_CASE("char tokenizer: at most 65,536 characters") {
  std::string text;
  for (char32_t c = 0x10000; c < 0x10000 + 65536; ++c) append_code_point(text, c);
  CHECK(tokenizer_of_text(text)->vocab_size() == 65536);
  text += 'a';
  CHECK_THROWS_WITH_AS(tokenizer_of_text(text),
                       "char tokenizer: the text has 65,537 different characters, but at most "
                       "65,536 fit; use tokenizer = \"byte\"",
                       Error);
}

TEST_CASE("tokenizer: a description that is damaged or unknown is an error") {
  using nlohmann::json;
  for (const char* text : {"{}", "[]", R"({"type": "char"})", R"({"type": "char", "table": [1]})"})
    CHECK_THROWS_WITH_AS(load_tokenizer(json::parse(text)),
                         "tokenizer: its description is damaged; prepare the data again", Error);
  CHECK_THROWS_WITH_AS(load_tokenizer(json::parse(R"({"type": "gpt9"})")),
                       "tokenizer: type 'gpt9' is unknown; there are byte, char and bpe", Error);
  CHECK_THROWS_AS(load_tokenizer(json::parse(R"({"type": "char", "table": ["ab"]})")), Error);
  CHECK_THROWS_AS(load_tokenizer(json::parse(R"({"type": "char", "table": ["a", "a"]})")), Error);
}
