#include "text/prepared_data.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"

using namespace exprun;

TEST_CASE("prepared data: JSON and back") {
  PreparedData data;
  data.fingerprint = "ab";
  data.tokenizer = {{"type", "byte"}};
  data.vocab_size = 256;
  data.train = {{"a.bin", 10, 1024}, {"b.bin", 20, 0}};
  const PreparedData again = PreparedData::from_json(data.to_json());
  CHECK(again.to_json() == data.to_json());
  CHECK(again.vocab_size == 256);
  CHECK(again.train.size() == 2);
  CHECK(again.train[1].tokens == 20);
  CHECK(again.train[0].first_byte == 1024);
  CHECK(again.validation.empty());
}

TEST_CASE("prepared data: a source without a tokenizer has no vocabulary") {
  const PreparedData again = PreparedData::from_json(PreparedData{}.to_json());
  CHECK(again.tokenizer.is_null());
  CHECK_FALSE(again.vocab_size);
}

TEST_CASE("prepared data: a damaged description is an error") {
  CHECK_THROWS_AS(PreparedData::from_json("{\"train\": 1"), Error);
  CHECK_THROWS_AS(PreparedData::from_json("{}"), Error);
  CHECK_THROWS_AS(PreparedData::from_json(R"({"fingerprint": 1})"), Error);
  CHECK_THROWS_AS(PreparedData::from_json(R"({"fingerprint": "", "tokenizer": {"vocabulary": 1},
                                              "vocab_size": null, "train": [],
                                              "validation": []})"),
                  Error);
  CHECK_THROWS_WITH_AS(PreparedData::from_json("{}", "a/data.json", "make it anew"),
                       "prepared data: 'a/data.json' is damaged (key 'fingerprint' not found); "
                       "make it anew",
                       Error);
}
