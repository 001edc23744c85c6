#include "text/prepared_data.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "support/temporary_folder.h"

using namespace exprun;

TEST_CASE("prepared data: JSON and back") {
  PreparedData data;
  data.fingerprint = "ab";
  data.tokenizer = {{"type", "byte"}};
  data.vocab_size = 256;
  data.described_vocab_size = 257;
  data.train = {{"a.bin", 10, 1024}, {"b.bin", 20, 0, 2, "0123abcd"}};
  const PreparedData again = PreparedData::from_json(data.to_json());
  CHECK(again.to_json() == data.to_json());
  CHECK(again.vocab_size == 256);
  CHECK(again.described_vocab_size == 257);
  CHECK(again.train.size() == 2);
  CHECK(again.train[0].content == "");
  CHECK(again.train[1].content == "0123abcd");
  CHECK(again.train[1].tokens == 20);
  CHECK(again.train[0].first_byte == 1024);
  CHECK(again.validation.empty());
}

TEST_CASE("prepared data: what lies in a store is found where the store is now") {
  const TemporaryFolder folder;
  const auto run = folder.write("now/run/data.json", ""),
             there = folder.write("now/data/a.bin", "");
  const std::string before = (folder.path() / "before").string(), elsewhere = "/elsewhere/c.bin";
  PreparedData data;
  data.store = before;
  data.tokenizer = {{"type", "bpe"}, {"vocabulary", before + "/data/vocabulary"}};
  data.train = {
      {before + "/data/a.bin", 10, 1024}, {elsewhere, 10, 1024}, {before + "s/d.bin", 1, 0}};
  write_file(run, data.to_json());
  const PreparedData now = PreparedData::load(run);
  CHECK(now.train[0].path == there);
  CHECK(now.train[1].path == elsewhere);
  CHECK(now.train[2].path == before + "s/d.bin");
  CHECK(now.tokenizer["vocabulary"] == (folder.path() / "now/data/vocabulary").string());

  // A copy of the run alone: its data lie where they lay.
  const auto still = folder.write("before/data/a.bin", "");
  CHECK(PreparedData::load(run).train[0].path == still);
}

TEST_CASE("prepared data: a set's paths are relative to its folder") {
  const TemporaryFolder folder;
  PreparedData data;
  data.tokenizer = {{"type", "bpe"}, {"vocabulary", "vocabulary"}};
  data.train = {{"a.bin", 10, 1024}};
  const auto file = folder.write("set/data.json", data.to_json());
  CHECK(PreparedData::load(file).train[0].path == (folder.path() / "set/a.bin").string());
  CHECK(PreparedData::load(file).tokenizer["vocabulary"] ==
        (folder.path() / "set/vocabulary").string());
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
