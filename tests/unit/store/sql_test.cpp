#include <doctest/doctest.h>

#include "support/refusal.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

std::string refusal(const Store& store, const std::string& sql) {
  return refusal(ExitCode::bad_recipe, [&] { store.query(sql); });
}

}  // namespace

TEST_CASE("query: columns, values and types") {
  const DatabaseFolder folder;
  const Store store(folder.database(), Store::Access::read_write);
  const Store::Result result =
      store.query("SELECT 1 AS a, 0.1 AS b, 'x''y' AS c, NULL AS d, x'0041' AS e, 9e999 AS f;");
  CHECK(result.columns == std::vector<std::string>{"a", "b", "c", "d", "e", "f"});
  REQUIRE(result.rows.size() == 1);
  const auto& row = result.rows[0];
  CHECK(row[0] == "1");
  CHECK(row[1] == "0.1");
  CHECK(row[2] == "x'y");
  CHECK(!row[3]);
  CHECK(row[4] == std::string("\0A", 2));
  CHECK(row[5] == "inf");
  CHECK(result.types[0] == std::vector<char>{'i', 'r', 't', 'n', 'b', 'r'});
}

TEST_CASE("query: a result without rows still has its columns") {
  const DatabaseFolder folder;
  const Store store(folder.database(), Store::Access::read_write);
  const Store::Result result = store.query("SELECT name, state FROM runs");
  CHECK(result.columns == std::vector<std::string>{"name", "state"});
  CHECK(result.rows.empty());
}

TEST_CASE("query: the views answer what people ask") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  CHECK(value_of(store, "SELECT name || ' ' || state FROM runs") == "quickstart finished");
  CHECK(value_of(store, "SELECT value FROM parameters WHERE path = 'optimizer.lr'") == "0.001");
}

TEST_CASE("query: the views hand a condition on a step down to the key, in the order of steps") {
  const DatabaseFolder folder;
  const Store store(folder.database(), Store::Access::read_write);
  const std::string sql =
      "EXPLAIN QUERY PLAN SELECT value FROM metrics WHERE run = 1 AND name = 'x'";
  const auto plan = [&](const std::string& rest) {
    std::string text;
    for (const auto& row : store.query(sql + rest).rows) text += row.back().value_or("") + '\n';
    return text;
  };
  CHECK(plan(" AND step = 15").find("SEARCH m USING PRIMARY KEY (series=? AND step=?)") !=
        std::string::npos);
  CHECK(plan(" ORDER BY step").find("TEMP B-TREE") == std::string::npos);
}

TEST_CASE("query: only one statement, and only one that reads") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a"));
  CHECK(refusal(store, "DELETE FROM metric") ==
        "query: only statements that read, such as SELECT, are allowed");
  CHECK(refusal(store, "UPDATE runs SET name = 'x'") ==  // a view
        "query: only statements that read, such as SELECT, are allowed");
  CHECK(refusal(store, "SELECT 1; DELETE FROM metric") == "query: give one statement at a time");
  CHECK(refusal(store, " -- nothing\n") == "query: there is no SQL statement in it");
  CHECK(refusal(store, "SELECT nonsense FROM runs") ==
        "query: no such column: nonsense; SELECT * FROM a view shows its columns; write strings in "
        "single quotes");
  CHECK(refusal(store, "SELECT 1 FROM losses") ==
        "query: no such table: losses; the views are all_runs, metrics, metrics_archived, "
        "parameters, removed_runs, runs, sweeps and trials");
  CHECK(refusal(store, "SELEC 1") == "query: near \"SELEC\": syntax error");
  CHECK(store.query("SELECT 1; -- done\n").rows.size() == 1);
  CHECK(store.runs().size() == 1);
}

TEST_CASE("query: no file can be made or changed through it") {
  const DatabaseFolder folder;
  const Store store(folder.database(), Store::Access::read_write);
  const std::string other = (folder.path() / "other.db").string();
  refusal(store, "ATTACH '" + other + "' AS other");
  refusal(store, "VACUUM INTO '" + other + "'");
  CHECK(!std::filesystem::exists(other));
}
