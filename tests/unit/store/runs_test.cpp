#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

TEST_CASE("store: a run is read back as it was recorded") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const NewRun given = new_run("1a2b3c4d");
  const int64_t id = store.create_run(given);

  const RunRow run = store.run(id).value();
  CHECK(run.uid == given.uid);
  CHECK(run.name == "quickstart");
  CHECK(run.recipe_hash == given.recipe_hash);
  CHECK(run.folder == "quickstart-1a2b3c4d");
  CHECK(run.working_directory == given.working_directory);
  CHECK(run.command_line == given.command_line);
  CHECK(run.data_fingerprint == given.data_fingerprint);
  CHECK(run.state == RunState::running);
  CHECK(run.seed == 1337);
  CHECK(run.steps == 300);
  CHECK(run.last_step == 0);
  CHECK(run.attempt == 1);
  CHECK(!run.ended_ms);
  CHECK(!run.exit_code);
  CHECK(!run.host.empty());
  CHECK(run.boot_id.size() >= 36);
  CHECK(run.pid == ::getpid());
  CHECK(!run.sweep_id);
  CHECK(store.recipe_json(id) == given.recipe_json);
  CHECK(store.resolved_toml(id) == given.resolved_toml);
  CHECK(!store.run(id + 1));
}

TEST_CASE("store: parameters keep their TOML text and compare as numbers in SQL") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  NewRun run = new_run("1a");
  run.parameters = {{"b.text", "\"gpt\""},
                    {"a.lr", "3e-4"},
                    {"c.steps", "300"},
                    {"d.flag", "true", false},
                    {"e.betas", "[0.9, 0.95]"}};
  const int64_t id = store.create_run(run);
  const std::vector<ParameterRow> sorted = {{"a.lr", "3e-4"},
                                            {"b.text", "\"gpt\""},
                                            {"c.steps", "300"},
                                            {"d.flag", "true", false},
                                            {"e.betas", "[0.9, 0.95]"}};
  CHECK(store.parameters(id) == sorted);
  CHECK(value_of(store,
                 "SELECT group_concat(path) FROM (SELECT path FROM parameters WHERE "
                 "typeof(value) <> 'text' AND value < 1 OR value = 'gpt' ORDER BY path)") ==
        "a.lr,b.text");
  CHECK(value_of(store, "SELECT group_concat(path) FROM parameters WHERE NOT changed") == "d.flag");
  CHECK(value_of(store, "SELECT typeof(value) FROM parameters WHERE path = 'c.steps'") ==
        "integer");
}

TEST_CASE("store: equal texts of many runs are kept once") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a"));
  store.create_run(new_run("2b"));
  CHECK(value_of(store, "SELECT count(*) FROM blob") == "2");
}

TEST_CASE("store: a run that cannot be recorded leaves nothing behind") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a"));
  NewRun twice = new_run("1a");
  twice.recipe_json = "another text";
  CHECK_THROWS_AS(store.create_run(twice), Error);
  CHECK(store.runs().size() == 1);
  CHECK(value_of(store, "SELECT count(*) FROM blob") == "2");
  CHECK(value_of(store, "SELECT count(*) FROM attempt") == "1");
}

TEST_CASE("store: runs are listed newest first and filtered by name and hash") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a", "first"));
  store.create_run(new_run("2b", "second"));
  store.create_run(new_run("3c", "first"));
  const auto names = [&](const std::vector<RunRow>& rows) {
    std::string text;
    for (const RunRow& row : rows) text += row.name + row.uid.substr(0, 2) + " ";
    return text;
  };
  CHECK(names(store.runs()) == "first3c second2b first1a ");
  CHECK(names(store.runs("first")) == "first3c first1a ");
  CHECK(names(store.runs("", "hash-of-second")) == "second2b ");
  CHECK(names(store.runs("first", "hash-of-second")).empty());
}

TEST_CASE("store: a run is found by id, uid, prefix, name, folder and @last") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a2b3c4d", "first"));
  store.create_run(new_run("1a2b9999", "second"));
  CHECK(store.find_run("1").name == "first");
  CHECK(store.find_run(new_run("1a2b9999").uid).name == "second");
  CHECK(store.find_run("1a2b3").name == "first");
  CHECK(store.find_run("second").id == 2);
  CHECK(store.find_run("first-1a2b3c4d").id == 1);
  CHECK(store.find_run("@last").id == 2);
}

TEST_CASE("store: a name means its newest run") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a"));
  store.create_run(new_run("2b"));
  CHECK(store.find_run("quickstart").id == 2);
}

TEST_CASE("store: a number is the id of a run before it is a name") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t named = store.create_run(new_run("1a", "2"));
  const int64_t second = store.create_run(new_run("2b", "3"));
  const auto meant = [&](const std::string& reference) {
    std::vector<int64_t> ids;
    for (const RunRow& run : store.runs_meant_by(reference)) ids.push_back(run.id);
    return ids;
  };
  CHECK(meant("2") == std::vector{second});
  CHECK(store.find_run("2").id == second);
  CHECK(meant("3") == std::vector{second});
  const int64_t third = store.create_run(new_run("3c", "many"));
  const int64_t fourth = store.create_run(new_run("4d", "many"));
  CHECK(meant("3") == std::vector{third});
  CHECK(meant("many") == std::vector{fourth, third});
  store.remove_run(second);
  CHECK(meant("2") == std::vector{named});
}

TEST_CASE("store: a reference that means no run or several says so") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const std::string file = folder.database().string();
  CHECK_THROWS_WITH_AS(store.find_run("@last"),
                       ("store: no run '@last' in '" + file + "'; it has no runs yet").c_str(),
                       Error);
  store.create_run(new_run("1a2b3c4d", "quickstart"));
  store.create_run(new_run("1a2b9999", "baseline"));
  CHECK_THROWS_WITH_AS(
      store.find_run("quickstrat"),
      ("store: no run 'quickstrat' in '" + file + "'; did you mean 'quickstart'?").c_str(), Error);
  CHECK_THROWS_WITH_AS(
      store.find_run("ffffffff"),
      ("store: no run 'ffffffff' in '" + file + "'; `exprun ls` lists its runs").c_str(), Error);
  CHECK_THROWS_WITH_AS(store.find_run("1a2b"),
                       "store: '1a2b' could mean several runs: 2 (baseline, 1a2b99990000), "
                       "1 (quickstart, 1a2b3c4d0000)",
                       Error);
  try {
    store.find_run("9");
    FAIL("found a run that is not there");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_such_run);
  }
}
