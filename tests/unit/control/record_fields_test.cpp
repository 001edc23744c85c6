// A record's fields at sight against a whole parse of it.
#include <doctest/doctest.h>

#include "base/random.h"
#include "control/data/read/record_template.h"
#include "support/record_at_sight.h"

using namespace exprun;

namespace {

const std::string kRecords[] = {
    R"({"text": "a quite plain text of some length", "id": 12, "score": -0.5})",
    R"( {"text":"","url":null,"more":[1,{"a":[]},"x"],"is":true,"empty":{}} )",
    R"({"text": "lines\n\ttabs \"quotes\" \\ \/ \b\f\r", "text": "the last counts"})",
    R"({"text": "\u00e9 \u4e2d \ud83d\ude00 \u0000 end"})",
    "{\"text\": \"\u00e9\u4e2d\U0001f600 and then some more, which is plain\"}",
    "{}",
};

// Whether it was found at sight: then as a whole parse finds it.
bool is_found(const std::string& record) {
  const auto found = record_at_sight(record);
  INFO(record);
  if (found) REQUIRE(*found == nlohmann::json::parse(record, nullptr, false));
  return found.has_value();
}

}  // namespace

TEST_CASE("record fields: common records are found at sight") {
  for (const std::string& record : kRecords) CHECK(is_found(record));
}

TEST_CASE("record fields: what is broken or uncommon is left to a whole parse") {
  for (const char* record :
       {"", "[]", "{", "{\"a\"}", "{\"a\": }", "{\"a\": 1,}", "{\"a\": 1} x", "{\"a\": 01}",
        "{\"a\": 1.}", "{\"a\": 1e999}", "{\"a\": \"\\x\"}", "{\"a\": \"\\ud800\"}",
        "{\"a\": \"\\ude00\"}", "{\"a\": \"\xff\"}", "{\"a\": \"\n\"}", "{\"a\": nul}",
        "{\"\\u0061\": 1}", "\xef\xbb\xbf{}"})
    CHECK_FALSE(is_found(record));
  CHECK_FALSE(is_found("{\"a\": " + std::string(1000, '[') + std::string(1000, ']') + "}"));
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

TEST_CASE("record fields: a template is filled alike at sight and by a whole parse") {
  const RecordTemplate text("{a}: {b}.", "only {a}");
  RecordRoom room;
  const auto filled = [&](const std::string& record) {
    return std::string(text.fill(record, room));
  };
  for (const std::string end :
       {"}", ", \"\\u0063\": 1}"}) {  // an escaped name is left to the parse
    CHECK(filled("{\"a\": \"x\\n\", \"b\": \"y\"" + end) == "x\n: y.");
    CHECK(filled("{\"a\": \"x\", \"b\": \"\"" + end) == "only x");
    CHECK(filled("{\"a\": \"x\", \"b\": null" + end) == "only x");
    CHECK(filled("{\"a\": \"x\"" + end) == "only x");
    CHECK(filled("{\"a\": \"x\", \"b\": 1.5" + end) == "x: 1.5.");
    CHECK(filled("{\"a\": \"w\", \"b\": \"y\", \"a\": \"x\"" + end) == "x: y.");
  }
}
