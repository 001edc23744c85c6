// NFC by examples of UAX #15 and of Unicode's NormalizationTest.txt, and where texts may be cut.
#include "text/unicode/nfc.h"

#include <doctest/doctest.h>

#include "base/utf8.h"
#include "support/byte_level.h"
#include "support/temporary_folder.h"
#include "text/bpe/bpe_tokenizer.h"
#include "text/unicode/unicode_compositions.h"

using namespace exprun;

namespace {

std::string utf8(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) append_code_point(text, c);
  return text;
}

std::string nfc(const std::string& text) {
  std::string buffer;
  return std::string(to_nfc(text, buffer));
}

std::unique_ptr<Tokenizer> composing_tokenizer() {
  const TemporaryFolder folder;
  nlohmann::json tokenizer = small_tokenizer(byte_level());
  tokenizer["normalizer"] = {{"type", "NFC"}};
  tokenizer["added_tokens"] = {
      {{"content", "e\u0301!"}, {"id", 256}, {"special", false}, {"normalized", false}}};
  return load_bpe_tokenizer(folder.write("tokenizer.json", tokenizer.dump()));
}

}  // namespace

TEST_CASE("nfc: letters and marks become one character where there is one") {
  for (const auto& [text, expected] : std::vector<std::pair<std::u32string, std::u32string>>{
           {U"e\u0301", U"\u00e9"},
           {U"\u1e69", U"\u1e69"},
           {U"s\u0307\u0323", U"\u1e69"},
           {U"\u1e9b\u0323", U"\u1e9b\u0323"},
           {U"\u1e0b\u0323", U"\u1e0d\u0307"},
           {U"q\u0307\u0323", U"q\u0323\u0307"},
           {U"\u212b \u2126", U"\u00c5 \u03a9"},
           {U"\u0344", U"\u0308\u0301"},
           {U"\u0958", U"\u0915\u093c"},
           {U"\U0001d15e", U"\U0001d157\U0001d165"},
           {U"a\u05b0\u0300\u0301", U"\u00e0\u05b0\u0301"},
           {U"\u1100\u1161\u11a8 \uac00\u11a8", U"\uac01 \uac01"},
           {U"\u0b47\u0300\u0b3e", U"\u0b47\u0300\u0b3e"},
           {U"\u0b47\u0b3e", U"\u0b4b"},
           {U"\ufb01 \u00bd", U"\ufb01 \u00bd"}})
    CHECK(nfc(utf8(text)) == utf8(expected));
}

TEST_CASE("nfc: each character that is composed again comes back, and each other is taken apart") {
  for (const Decomposition& each : decompositions()) {
    const std::string whole = utf8({&each.code, 1});
    CHECK((nfc(whole) == whole) == each.composes);
    CHECK(nfc(nfc(whole)) == nfc(whole));
    if (each.composes) CHECK(nfc(utf8(std::u32string{each.first, each.second})) == whole);
  }
}

TEST_CASE("nfc: what is in it already is the text itself, and broken bytes stay") {
  std::string buffer;
  const std::string text = "caf\u00e9, \u4e2d\u6587 \uac01 \u0416";
  CHECK(to_nfc(text, buffer).data() == text.data());
  CHECK(nfc("a\xcc b\xff\u0301"
            "e\u0301") == "a\xcc b\xff\u0301\u00e9");
  CHECK(nfc("\u0301"
            "e\u0301") == "\u0301\u00e9");
  CHECK(nfc("\u00e9\xa9\u0301") == "\u00e9\xa9\u0301");
}

TEST_CASE("nfc: a tokenizer that asks for it sees it, but within added tokens that are raw") {
  const auto tokenizer = composing_tokenizer();
  CHECK(tokenizer->encode("e\u0301") == Tokens{0xc3, 0xa9});
  CHECK(tokenizer->encode("\u00e9") == Tokens{0xc3, 0xa9});
  CHECK(tokenizer->encode("xe\u0301!") == Tokens{'x', 256});
  CHECK(tokenizer->encode("x\u00e9!") == Tokens{'x', 0xc3, 0xa9, '!'});
}

TEST_CASE("nfc: texts are cut only where nothing is composed") {
  const auto tokenizer = composing_tokenizer();
  const std::string text =
      "Ae\u0301 ne\u0301e, o\u0302 =\u0338 3e\u0301 \u1100\u1161 \u0915\u093c, cafe\u0301. b c";
  size_t cuts = 0;
  for (size_t size = 1; size <= text.size(); ++size) {
    const size_t cut = tokenizer->safe_cut(std::string_view(text).substr(0, size));
    Tokens parts = tokenizer->encode(text.substr(0, cut));
    const Tokens rest = tokenizer->encode(text.substr(cut));
    parts.insert(parts.end(), rest.begin(), rest.end());
    CHECK(parts == tokenizer->encode(text));
    cuts += cut > 0;
  }
  CHECK(cuts > text.size() / 2);
}
