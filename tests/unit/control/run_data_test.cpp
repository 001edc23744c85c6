#include "control/launch/run/run_data.h"

#include <doctest/doctest.h>

#include "base/files/file.h"
#include "base/hash.h"
#include "tests/support/temporary_folder.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

PreparedData made_from(const std::string& fingerprint, const json& files,
                       const std::string& there = "/texts") {
  PreparedData data;
  data.fingerprint = fingerprint;
  data.made_from = {{"working_directory", there}, {"files", files}};
  return data;
}

json file(const std::string& path, const std::string& hash) {
  return {{"path", path}, {"xxh3_128", hash}};
}

struct Trained {
  explicit Trained(const PreparedData& data) {
    run.data_fingerprint = data.fingerprint;
    write_file_atomically(folder.data(), data.to_json());
  }
  std::string difference(const PreparedData& now, bool keys_differ = false) const {
    return data_difference(now, run, folder, keys_differ);
  }

  TemporaryFolder temporary;
  RunFolder folder{temporary.path()};
  RunRow run;
};

}  // namespace

TEST_CASE("data of a run: files that have changed since are named as they are written now") {
  const Trained before(made_from("1", {file("a.txt", "x"), file("b.txt", "y")}));
  CHECK(before.difference(made_from("1", json::array({file("a.txt", "x")}))) == "");
  CHECK(before.difference(made_from("2", {file("a.txt", "z"), file("b.txt", "y")}), true) ==
        "a.txt has changed since");
  CHECK(before.difference(
            made_from("2", {file("texts/a.txt", "z"), file("/texts/b.txt", "z")}, "/"), true) ==
        "texts/a.txt, /texts/b.txt have changed since");
}

TEST_CASE("data of a run: they are enough where files are gone and none has changed") {
  const TemporaryFolder texts;
  const auto left = texts.write("left.txt", "text");
  const auto enough = [&](const json& files, const std::string& fingerprint = "1",
                          const std::vector<fs::path>& sources = {},
                          NewSources added = NewSources::are_read) {
    Trained trained(made_from("1", files, texts.path().string()));
    trained.run.data_fingerprint = fingerprint;
    return recorded_data(trained.run, trained.folder, added, [&] { return sources; }).has_value();
  };
  const json gone = file("gone.txt", "x"), same = file("left.txt", hash_hex("text"));
  CHECK(enough({gone, same}));
  CHECK_FALSE(enough({gone, same}, "2"));
  CHECK_FALSE(enough({gone, file("left.txt", hash_hex("other"))}));
  CHECK_FALSE(enough(json::array({same})));
  CHECK_FALSE(enough(json::array()));
  const auto added = texts.path() / "added.txt";
  CHECK_FALSE(enough(json::array({same}), "1", {left, added}));
  const auto left_out = NewSources::are_left_out;
  CHECK(enough(json::array({same}), "1", {left, added}, left_out));
  CHECK_FALSE(enough(json::array({same}), "1", {left}, left_out));
  CHECK_FALSE(enough(json::array({file("left.txt", "x")}), "1", {left, added}, left_out));
}

TEST_CASE("data of a run: a file of a project that was moved is the same file") {
  const TemporaryFolder project;
  project.write("text.txt", "text");
  const fs::path former = fs::current_path();
  fs::current_path(project.path());
  const Trained before(made_from("1", json::array({file("text.txt", "x")}), "/where/it/was"));
  const auto difference = before.difference(
      made_from("2", json::array({file("text.txt", hash_hex("text"))}), project.path().string()));
  fs::current_path(former);
  CHECK(difference == "text.txt has changed since");
}

TEST_CASE("data of a run: files that are gone are named where no key says that others are meant") {
  const TemporaryFolder texts;
  texts.write("a.txt", "text");
  const std::string there = texts.path().string();
  const Trained before(made_from("1", {file("a.txt", "x"), file("b.txt", "y")}, there));
  const PreparedData same_a = made_from("2", json::array({file("a.txt", "x")}), there);
  const PreparedData other_a = made_from("2", json::array({file("a.txt", "z")}), there);
  CHECK(different_sources(same_a, before.folder) == "b.txt is gone");
  CHECK(before.difference(same_a) == "b.txt is gone");
  CHECK(before.difference(other_a) == "a.txt has changed since; b.txt is gone");
  CHECK(before.difference(other_a, true) == "a.txt has changed since");
}

TEST_CASE("data of a run: files that are new are named where no key says that others are meant") {
  const TemporaryFolder texts;
  texts.write("a.txt", "text");
  const std::string there = texts.path().string();
  Trained before(made_from("1", {file("a.txt", "x"), file("b.txt", "y")}, there));
  const PreparedData now = made_from("2", {file("a.txt", "z"), file("c.txt", "x")}, there);
  CHECK(before.difference(now) == "a.txt has changed since; b.txt is gone; c.txt is new");
  CHECK(before.difference(now, true) == "a.txt has changed since");
  PreparedData many = made_from("1", json::array({file("a.txt", "x")}), there);
  many.made_from["number_of_files"] = 100;  // c.txt may be one of them
  CHECK(Trained(many).difference(made_from("2", {file("a.txt", "x"), file("c.txt", "x")}, there)) ==
        "its content differs");
}

TEST_CASE("data of a run: of many files some are named") {
  json then, now;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    then.push_back(file(name, "x"));
    now.push_back(file(name, "y"));
  }
  CHECK(Trained(made_from("1", then)).difference(made_from("2", now), true) ==
        "a, b, c, d and 2 more have changed since");
}

TEST_CASE("data of a run: without a known file only keys may tell why they differ") {
  const TemporaryFolder texts;
  texts.write("a.txt", "text");
  const Trained before(made_from("1", json::array({file("a.txt", "x")}), texts.path().string()));
  const PreparedData others = made_from("2", json::array({file("b.txt", "x")}));
  CHECK(before.difference(others, true) == "");
  PreparedData shards;
  shards.fingerprint = "3";
  CHECK(before.difference(shards) == "its content differs");
  CHECK(Trained(shards).difference(others) == "its content differs");
}

TEST_CASE("data of a run: a folder that is gone tells nothing") {
  const TemporaryFolder empty;
  CHECK_FALSE(data_of_run({empty.path()}));
  CHECK(changed_sources(made_from("2", json::array({file("a.txt", "z")})), {empty.path()}) == "");
}

}  // namespace exprun
