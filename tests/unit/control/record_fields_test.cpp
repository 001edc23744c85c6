// A record's fields at sight against a whole parse of it.
#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "base/random.h"
#include "control/data/read/record_template.h"
#include "support/found_as_by_parse.h"

using namespace exprun;

namespace {

const std::string kRecords[] = {
    R"({"text": "a quite plain text of some length", "id": 12, "score": -0.5})",
    R"( {"text":"","url":null,"more":[1,{"a":[]},"x"],"is":true,"empty":{}} )",
    R"({"text": "lines\n\ttabs \"quotes\" \\ \/ \b\f\r", "text": "the last counts"})",
    R"({"text": "\u00e9 \u4e2d \ud83d\ude00 \u0000 end"})",
    "{\"text\": \"\u00e9\u4e2d\U0001f600 and then some more, which is plain\"}",
    R"({"numbers": [0, -0, 1.50, 1E2, -3.25e-7, 4e+1], "n": 12345678901234567890123})",
    R"({"t\u0065xt": "a name may have escapes"})",
    "{}",
};

// Whether it was found, and then as a whole parse finds it.
bool is_found(const std::string& record) {
  INFO(record);
  const std::vector<char> exact(record.begin(), record.end());  // nothing after it may be read
  REQUIRE(is_found_as_by_parse({exact.data(), exact.size()}));
  return RecordFields().find({exact.data(), exact.size()});
}

std::string filled(const std::string& text, const std::string& record,
                   const std::string& fallback = "") try {
  RecordRoom room;
  return std::string(RecordTemplate(text, fallback).fill(record, room));
} catch (const Error& error) {
  return error.what();
}

}  // namespace

TEST_CASE("record fields: records are found as a whole parse finds them") {
  for (const std::string& record : kRecords) CHECK(is_found(record));
  CHECK(is_found("\xef\xbb\xbf {}"));
  for (const size_t levels : {1, 64, 65, 1000}) {
    CHECK(is_found("{\"a\": " + std::string(levels, '[') + std::string(levels, ']') + "}"));
    std::string objects;
    for (size_t i = 0; i < levels; ++i) objects += "{\"a\": [1, 2], \"b\": [{}, ";
    objects += "0";
    for (size_t i = 0; i < levels; ++i) objects += "]}";
    CHECK_FALSE(is_found(objects.substr(0, objects.size() - 1)));
    CHECK(is_found(objects));
  }
}

TEST_CASE("record fields: what is broken is not found") {
  for (const char* record : {"",
                             "[]",
                             "{",
                             "{\"a\"}",
                             "{\"a\": }",
                             "{\"a\": 1,}",
                             "{\"a\": 1} x",
                             "{\"a\": 01}",
                             "{\"a\": 1.}",
                             "{\"a\": .5}",
                             "{\"a\": +1}",
                             "{\"a\": -}",
                             "{\"a\": 1e}",
                             "{\"a\": 1e+}",
                             "{\"a\": 1e2.5}",
                             "{\"a\": 0x1}",
                             "{\"a\": \"\\x\"}",
                             "{\"a\": \"\\ud8\"}",
                             "{\"a\": \"\xff\"}",
                             "{\"a\": \"\n\"}",
                             "{\"a\": nul}",
                             "{\"a\": [1,]}",
                             "{\"a\": [1}",
                             "{\"a\": {\"b\"}}",
                             "{\"a\": {\"b\": 1,}}",
                             "{\"a\": {1: 1}}",
                             "{\"a\": [}",
                             "{\"a\": [",
                             "{\"a\": []",
                             "\xef\xbb{}"})
    CHECK_FALSE(is_found(record));
}

TEST_CASE("record fields: of records with any byte changed nothing else is found") {
  constexpr uint64_t kChanges = 20'000;
  uint64_t found = 0;
  for (uint64_t i = 0; i < kChanges; ++i) {
    std::string record = kRecords[random_below(std::size(kRecords), {i, 0})];
    for (uint64_t change = 0; change <= random_below(3, {i, 1}); ++change) {
      const auto at = static_cast<size_t>(random_below(record.size(), {i, change, 2}));
      record[at] = "\"\\{}[]:,0-.eu \xc3\x80\n"[random_below(18, {i, change, 3})];
    }
    found += is_found(record);
  }
  CHECK(found > kChanges / 20);
}

TEST_CASE("record fields: a fallback is taken where a field is missing or empty") {
  const auto text = [](const std::string& fields) {
    return filled("{a}: {b}.", "{\"a\": " + fields + "}", "only {a}");
  };
  CHECK(text(R"("x\n", "b": "y")") == "x\n: y.");
  CHECK(text(R"("x", "b": "")") == "only x");
  CHECK(text(R"("x", "b": null)") == "only x");
  CHECK(text(R"("x")") == "only x");
  CHECK(text(R"("x", "b": 1.5)") == "x: 1.5.");
  CHECK(text(R"("w", "b": "y", "a": "x")") == "x: y.");
  CHECK(text(R"("x", "\u0062": "y")") == "x: y.");
}

TEST_CASE("record fields: what is no text becomes its JSON, a number as it is written") {
  const std::string numbers =
      R"("p":12345678901234567890123,"q":1.50,"r":0.1000,"t":18446744073709551616,"u":-0,"v":1E2)";
  const std::string text = "{p} {q} {r} {t} {u} {v}";
  const std::string digits = "12345678901234567890123 1.50 0.1000 18446744073709551616 -0 1E2";
  for (const char* more : {"", R"(,"\u0063":1)", R"(,"deep":[[[]]])", R"(,"large":1e400)"})
    CHECK(filled(text, "{" + numbers + more + "}") == digits);
  CHECK(filled("{q}", "{" + numbers + "}") == "1.50");
  CHECK(filled("{n}", "{\"n\": " + std::string(400, '9') + "}") == std::string(400, '9'));
  CHECK(filled("{a}{b}{c}{d}",
               R"({"a": true, "b": false, "c": null, "d": { "x": [1, "\u00e9"] }})") ==
        "truefalse{\"x\":[1,\"\u00e9\"]}");
  CHECK(filled("{c}", R"({"c": null})").empty());
  CHECK(filled("{a}", R"({"a": [ "a list of some length", "\u00e9" ]})") ==
        "[\"a list of some length\",\"\u00e9\"]");
}

TEST_CASE("record fields: what is no value of any type matters in a field that is used alone") {
  for (const char* odd : {"1e400", R"("\ud83d x")", R"("\ude00")", R"(["\ud83d", -1e999])"})
    CHECK(filled("{text}", std::string(R"({"odd": )") + odd + R"(, "text": "a"})") == "a");
  CHECK(filled("{text}", R"({"text": 1e400})") == "1e400");
  CHECK(filled("{text}", R"({"text": [1e400]})") ==
        "has a value in its field 'text' that cannot become text: number overflow parsing '1e400'");
}

TEST_CASE("record fields: half of a surrogate pair is no character") {
  const auto problem = [](const std::string& half) {
    return "has half of a surrogate pair (" + half +
           "), which is not a character, in its field 'text'";
  };
  CHECK(filled("{text}", R"({"text": "\ud83d x"})") == problem("\\ud83d"));
  CHECK(filled("<{text}>", R"({"text": "\n\uDE00\ud83d"})") == problem("\\uDE00"));
  CHECK(filled("{text}", R"({"text": "\ud83d\ud83d\ude00"})") == problem("\\ud83d"));
  CHECK(filled("{text}", R"({"text": "\ud83d\ude00"})") == "\U0001f600");
  CHECK(filled("{text}", R"({"text": ["\ud83d"]})")
            .starts_with("has a value in its field 'text' that cannot become text: "));
}

TEST_CASE("record fields: why a record is none is said") {
  CHECK(filled("{text}", "[1]") == "is not a JSON object");
  CHECK(filled("{text}", R"({"text": })").starts_with("is not JSON: parse error at column 10 of "));
  CHECK(filled("{text}", R"({"b": 1, "\u0061": 2, "b": 3})") ==
        "has no field 'text'; it has 'a', 'b'"
        "; dataset.template says which fields are read");
  CHECK(
      filled("{text}", R"({"instruction": "a", "output": "b"})") ==
      "has no field 'text'; it has 'instruction', 'output'; [dataset] type = \"instruction\" reads "
      "such records");
  CHECK(filled("{text}", "{}") == "has no field 'text'; it has no fields");
  CHECK(filled("{text}", std::string("{\"text\": \"a\"}\0x", 15)) ==
        "is not JSON: a zero byte follows its object");
}
