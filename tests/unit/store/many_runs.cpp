#include "tests/unit/store/many_runs.h"

#include <string>

#include "store/database/open.h"

namespace exprun {

void add_runs(const std::filesystem::path& database_file, int first, int last, int points) {
  const auto connection = open_store(database_file, Connection::Mode::read_write);
  connection->write("fill", Connection::Durability::written, [&] {
    SQLite::Database& database = connection->database();
    database.exec("CREATE TEMP TABLE n (i INTEGER PRIMARY KEY); CREATE TEMP TABLE ten (i INTEGER)");
    database.exec("WITH RECURSIVE c(i) AS (SELECT " + std::to_string(first) +
                  " UNION ALL SELECT i + 1 FROM c WHERE i < " + std::to_string(last) +
                  ") INSERT INTO n SELECT i FROM c");
    const std::string all = std::to_string(points);
    database.exec(
        "CREATE TEMP TABLE step (i INTEGER); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL "
        "SELECT i + 1 FROM c WHERE i < " +
        all + ") INSERT INTO step SELECT i FROM c");
    database.exec(
        "INSERT INTO ten VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);"
        "INSERT INTO run (id, uid, name, recipe_hash, seed, steps, folder, working_directory, "
        "command_line, data_fingerprint, started_ms, attempt) SELECT i, printf('%032x', i), "
        "'sweep', printf('%032x', i * 7), i, 10, printf('sweep-%08x', i), '/home/user/project', "
        "'exprun sweep', 'data', 1700000000000 + i * 1000, 1 FROM n;"
        "INSERT INTO attempt (run, attempt, from_step, last_step, state, started_ms, last_beat_ms, "
        "ended_ms, exit_code, host, boot_id, pid, pid_started) SELECT i, 1, 0, 10, 'finished', "
        "1700000000000 + i * 1000, 1700000060000 + i * 1000, 1700000060000 + i * 1000, 0, 'box', "
        "'boot', 1, 1 FROM n;"
        "INSERT INTO series (id, run, name, timing, count, last, last_step, min, min_step, max, "
        "max_step) SELECT n.i * 10 + t.i, n.i, CASE t.i WHEN 0 THEN 'val/loss' WHEN 1 THEN "
        "'train/loss' ELSE 'series_' || t.i END, 0, " +
        all + ", n.i * 0.5, " + all +
        ", n.i * 0.25, 9, n.i, 1 FROM n, ten AS t;"
        "INSERT INTO metric (series, step, value, time_ms) SELECT n.i * 10 + t.i, s.i, "
        "1.0 * n.i / s.i, (s.i - 1) * 6000 FROM n, ten AS t, step AS s;"
        "CREATE TEMP TABLE key AS SELECT t.i * 2 + u.i AS i FROM ten AS t, ten AS u WHERE u.i < 2;"
        "INSERT OR IGNORE INTO parameter_key (id, path) SELECT i, 'table.key_' || i FROM key;"
        "INSERT INTO parameter (run, key, toml, value, changed) SELECT n.i, key.i, "
        "iif(key.i = 3, n.i, 7), iif(key.i = 3, n.i, 7), key.i = 3 FROM n, key;"
        "DROP TABLE n; DROP TABLE ten; DROP TABLE step; DROP TABLE key");
  });
}

}  // namespace exprun
