#include "text/bpe/vocabulary_readers.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

using exprun::read_id_object;
using nlohmann::json;

namespace {

using Ids = std::vector<std::pair<std::string, uint64_t>>;

// Nothing where it is refused.
std::optional<Ids> ids_in(std::string_view text) {
  Ids ids;
  const bool good = read_id_object(
      std::string(text), [&](std::string_view name, uint64_t id) { ids.emplace_back(name, id); });
  return good ? std::optional(ids) : std::nullopt;
}

}  // namespace

TEST_CASE("id object: names and ids in the order of the text, of a name twice both") {
  CHECK(*ids_in("{}") == Ids{});
  CHECK(*ids_in(" \t\r\n{ } \n") == Ids{});
  CHECK(*ids_in("\xef\xbb\xbf{\"b\" : 1 ,\n\"a\":0,\"b\": 18446744073709551615}\n") ==
        Ids{{"b", 1}, {"a", 0}, {"b", 18446744073709551615u}});
}

TEST_CASE("id object: a JSON library reads the same names") {
  for (const std::string name :
       {R"()", R"(plain)", R"(\u0120the)", R"(\"\\\/\b\f\n\r\t)", R"(a\"b)", R"(\u00E9\u00e9)",
        R"(\u20ac)", R"(\ud83d\ude00!)", "\u0120\u00e9\u20ac\U0001F600\x7f", R"(\u0000\uffff)"}) {
    CAPTURE(name);
    const std::string text = "{\"" + name + "\": 7}";
    const auto expected = json::parse(text).begin().key();
    CHECK(*ids_in(text) == Ids{{expected, 7}});
  }
}

TEST_CASE(
    "id object: what is no JSON, or holds anything but ids, is refused as by a JSON library") {
  for (const std::string text : {"",
                                 "{",
                                 "{\"",
                                 "{\"a\"",
                                 "{\"a\":",
                                 "{\"a\":1",
                                 "{\"a\":1,",
                                 "{\"a\":1,}",
                                 "{,}",
                                 "{a:1}",
                                 "{\"a\":1}}",
                                 "{\"a\":1} x",
                                 "{\"a\" 1}",
                                 "{\"a\":1 \"b\":2}",
                                 "{\"a\":01}",
                                 "{\"a\":+1}",
                                 "{\"\x01\":1}",
                                 "{\"a\nb\":1}",
                                 R"({"\x":1})",
                                 R"({"\)",
                                 R"({"\u)",
                                 R"({"\u12":1})",
                                 R"({"\u12g4":1})",
                                 R"({"\ud800":1})",
                                 R"({"\ud800\n":1})",
                                 R"({"\ud800\ud800":1})",
                                 R"({"\udc00":1})",
                                 R"({"\ud800\)",
                                 R"({"\ud800\u)",
                                 "{\"\xff\":1}",
                                 "{\"\xc3\":1}",
                                 "{\"\xed\xa0\x80\":1}",
                                 "{\"a\":0x1}",
                                 "{'a':1}"}) {
    CAPTURE(text);
    CHECK_FALSE(json::accept(text));
    CHECK_FALSE(ids_in(text));
  }
  for (const std::string text :
       {"[]", "1", "{\"a\":-1}", "{\"a\":-0}", "{\"a\":1.0}", "{\"a\":1e3}", "{\"a\":\"1\"}",
        "{\"a\":null}", "{\"a\":{}}", "{\"a\":[1]}", "{\"a\":18446744073709551616}"}) {
    CAPTURE(text);
    CHECK(json::accept(text));
    CHECK_FALSE(ids_in(text));
  }
}
