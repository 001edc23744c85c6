#include "base/utf8.h"

#include <doctest/doctest.h>

using namespace exprun;
using namespace std::string_literals;

namespace {

// ASCII, two to four bytes, emoji joined by U+200D, a combining mark, NUL.
const std::string kHardText = "a\u00e9\u4e2d\U0001f468\u200d\U0001f4bbe\u0301\0b\n"s;

}  // namespace

TEST_CASE("utf8: code points and back") {
  std::string again;
  for (const CodePoint& c : code_points(kHardText)) {
    CHECK(c.valid);
    append_code_point(again, c.value);
  }
  CHECK(again == kHardText);
  CHECK_FALSE(first_invalid_byte(kHardText));
}

TEST_CASE("utf8: overlong forms, surrogates, what is too large and what is cut are invalid") {
  for (const char* text : {"\xff", "\x80", "\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80",
                           "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xb8", "\xc3z"}) {
    CHECK(first_invalid_byte(std::string("a\u00e9") + text) == 3);
    CHECK_FALSE(first_code_point(text).valid);
  }
}

TEST_CASE("utf8: what is no character becomes U+FFFD, a byte each") {
  CHECK(to_valid_utf8("a\xffz\xe4\xb8") == "a\ufffdz\ufffd\ufffd");
  CHECK(to_valid_utf8(kHardText) == kHardText);
  CHECK(to_valid_utf8("") == "");
}

TEST_CASE("utf8: what a terminal acts on becomes U+FFFD, line ends and tabs stay") {
  CHECK(without_controls("a\x1b]0;b\a\tc\r\n\x7f\xc2\x9b\xff\u00e9") ==
        "a\ufffd]0;b\ufffd\tc\ufffd\n\ufffd\ufffd\ufffd\u00e9");
}

TEST_CASE("utf8: a character at the end that is not complete yet") {
  CHECK(whole_characters("aä") == 3);
  CHECK(whole_characters("a\xc3") == 1);
  CHECK(whole_characters("a\xe2\x82") == 1);
  CHECK(whole_characters("\xf0\x9f\x98") == 0);
  CHECK(whole_characters("a\x82") == 2);  // of none that has begun
  CHECK(whole_characters("") == 0);
}
