#include "base/json_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace exprun;
using nlohmann::json;
using nlohmann::ordered_json;

TEST_CASE("json text: a value is found by its name, whatever stands behind it") {
  const std::string text = R"({"a": {"b": 1}, "b": {"c": [2]}, "d": nonsense)";
  CHECK(value_in_object(text, "b") == json{{"c", {2}}});
  CHECK(value_in_object(text, "a") == json{{"b", 1}});
  CHECK(value_in_object(R"({"a": [1], "b": null, "c": 3})", "c") == 3);
  CHECK(value_in_object(R"({"a": {"b": 1}})", "b").is_null());
  CHECK(value_in_object("[3]", "b").is_null());
  CHECK_THROWS_AS(value_in_object(text, "e"), json::parse_error);
}

TEST_CASE("json text: an ordered value keeps the order of its text") {
  const std::string text = R"({"b":1,"a":[true,null]})";
  CHECK(json_text(parse_json<ordered_json>(text)) == text);
  CHECK(json_text(parse_json<json>(text)) == R"({"a":[true,null],"b":1})");
  CHECK(json_text(parse_json<json>("[1]"), 2) == "[\n  1\n]");
}

TEST_CASE("json text: what is no JSON throws, or is discarded") {
  CHECK_THROWS_WITH_AS(
      parse_json<json>("{\"a\": }"),
      "[json.exception.parse_error.101] parse error at line 1, column 7: syntax error while "
      "parsing value - unexpected '}'; expected '[', '{', or a literal",
      json::parse_error);
  CHECK(parse_json_or_discard<json>("{\"a\": }").is_discarded());
  CHECK(parse_json_or_discard<ordered_json>("").is_discarded());
}

TEST_CASE("json text: a problem is told without the library's number for it") {
  CHECK(json_problem(std::runtime_error("[json.exception.type_error.302] type must be number")) ==
        "type must be number");
  CHECK(json_problem(std::runtime_error("[a] b")) == "[a] b");
}

TEST_CASE("json text: bytes that are not UTF-8 throw, or are replaced") {
  CHECK_THROWS_AS(json_text(json("a\xff")), json::type_error);
  CHECK(json_text(json("a\xff"), -1, NotUtf8::replaced) == "\"a\xEF\xBF\xBD\"");
}
