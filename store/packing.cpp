#include "store/packing.h"

#include <algorithm>
#include <string>

#include "store/store_impl.h"
#include "store/summary.h"

namespace exprun {
namespace {

using Points = std::vector<StampedValue>;
using Pack = std::span<const StampedValue>;

constexpr size_t kPackPoints = 108;  // the format's: the tables have so many columns
constexpr size_t kPacksInPart = 300;

// For every column of a pack: "v0, v1, ..." of each("v0", 0) is its name.
template <typename Each>
std::string for_columns(const char* kinds, const std::string& separator, Each each) {
  std::string sql;
  for (const char* kind = kinds; *kind != '\0'; ++kind)
    for (size_t i = 0; i < kPackPoints; ++i)
      sql += (sql.empty() ? "" : separator) + each(*kind + std::to_string(i));
  return sql;
}

std::string columns(const char* kinds) {
  return for_columns(kinds, ", ", [](const std::string& name) { return name; });
}

std::string places(const char* kinds) {
  return for_columns(kinds, ", ", [](const std::string&) { return "?"; });
}

// From parameter `index` on, one for each point; returns the next.
template <typename Member>
int bind_column(SQLite::Statement& statement, int index, Pack pack, Member member) {
  for (const StampedValue& point : pack) statement.bind(index++, point.*member);
  return index;
}

void bind_steps(SQLite::Statement& statement, int64_t run, Pack pack) {
  statement.bind(1, run);
  bind_column(statement, bind_column(statement, 2, pack, &StampedValue::step), pack,
              &StampedValue::time_ms);
}

// The steps and times of the pack, which another series of the run may have too.
int64_t steps_of(Connection& connection, int64_t run, Pack pack) {
  static const std::string kFind =
      "SELECT id FROM packed_steps WHERE run = ? AND " +
      for_columns("st", " AND ", [](const std::string& name) { return name + " = ?"; });
  static const std::string kInsert =
      "INSERT INTO packed_steps (run, " + columns("st") + ") VALUES (?, " + places("st") + ")";
  {
    SQLite::Statement& find = connection.prepared(kFind);
    bind_steps(find, run, pack);
    const bool found = find.executeStep();
    const int64_t id = found ? find.getColumn(0).getInt64() : 0;
    find.reset();
    if (found) return id;
  }
  SQLite::Statement& insert = connection.prepared(kInsert);
  bind_steps(insert, run, pack);
  insert.exec();
  insert.reset();
  return connection.database().getLastInsertRowid();
}

void insert_pack(Connection& connection, int64_t run, int64_t series, Pack pack) {
  static const std::string kInsert = "INSERT INTO packed_metric (series, first_step, steps, " +
                                     columns("v") + ") VALUES (?, ?, ?, " + places("v") + ")";
  const int64_t steps = steps_of(connection, run, pack);
  SQLite::Statement& insert = connection.prepared(kInsert);
  insert.bind(1, series);
  insert.bind(2, pack.front().step);
  insert.bind(3, steps);
  bind_column(insert, 4, pack, &StampedValue::value);
  insert.exec();
  insert.reset();
}

// What fills no pack stays as it is.
Points first_rows(Connection& connection, int64_t series, size_t packs) {
  Points points;
  Query query(connection,
              "SELECT step, value, time_ms FROM metric WHERE series = ? ORDER BY step LIMIT ?",
              series, packs * kPackPoints);
  while (query.step()) points.push_back({query.integer(0), query.real_or_nan(1), query.integer(2)});
  points.resize(points.size() / kPackPoints * kPackPoints);
  return points;
}

// At most so many; returns how many.
size_t pack_rows(Connection& connection, int64_t run, int64_t series, size_t packs) {
  const Points points = first_rows(connection, series, packs);
  for (Pack rest = points; !rest.empty(); rest = rest.subspan(kPackPoints))
    insert_pack(connection, run, series, rest.first(kPackPoints));
  Query(connection, "DELETE FROM metric WHERE series = ? AND step <= ?", series, points.back().step)
      .run();
  return points.size() / kPackPoints;
}

// Those that fill a pack.
std::vector<int64_t> series_with_rows(Connection& connection, int64_t run) {
  std::vector<int64_t> series;
  Query query(connection,
              "SELECT id FROM series AS s WHERE run = ? AND EXISTS (SELECT 1 FROM metric WHERE "
              "series = s.id LIMIT 1 OFFSET ?) ORDER BY id",
              run, kPackPoints - 1);
  while (query.step()) series.push_back(query.integer(0));
  return series;
}

std::vector<int64_t> series_with_packs(Connection& connection, int64_t run, int64_t after_step) {
  std::vector<int64_t> series;
  Query query(connection,
              "SELECT DISTINCT p.series FROM packed_steps AS a JOIN packed_metric AS p ON p.steps "
              "= a.id WHERE a.run = ? AND a.s107 > ?",
              run, after_step);
  while (query.step()) series.push_back(query.integer(0));
  return series;
}

// Of a run without packs; only of a damaged store, or beside a merge.
std::vector<int64_t> miscounted_series(Connection& connection, int64_t run) {
  std::vector<int64_t> series;
  Query query(connection,
              "SELECT id FROM series WHERE run = ? AND count <> (SELECT count(*) FROM metric "
              "WHERE series = series.id)",
              run);
  while (query.step()) series.push_back(query.integer(0));
  return series;
}

bool may_be_packed(Connection& connection, int64_t run) {
  Query query(connection,
              "SELECT 1 FROM run AS r JOIN attempt AS a ON a.run = r.id AND a.attempt = r.attempt "
              "WHERE r.id = ? AND r.removed_ms IS NULL AND a.ended_ms IS NOT NULL",
              run);
  return query.step();
}

// Then rows that were made of its packs would be left behind.
bool is_being_purged(Connection& connection, int64_t series) {
  Query query(connection,
              "SELECT 1 FROM series AS s JOIN run AS r ON r.id = s.run "
              "WHERE s.id = ? AND r.purging = 1",
              series);
  return query.step();
}

// The first step of the earliest of the last packs that reach beyond `after_step`.
std::optional<int64_t> last_packs(Connection& connection, int64_t series, int64_t after_step) {
  Query query(connection,
              "SELECT min(first_step) FROM (SELECT p.first_step FROM packed_metric AS p JOIN "
              "packed_steps AS a ON a.id = p.steps WHERE p.series = ? AND a.s107 > ? "
              "ORDER BY p.first_step DESC LIMIT ?)",
              series, after_step, kPacksInPart);
  query.step();
  return query.optional_integer(0);
}

}  // namespace

void each_packed_point(Connection& connection, int64_t series, int64_t after_step,
                       const std::function<void(const StampedValue&)>& visit) {
  static const std::string kSelect =
      "SELECT " + columns("svt") +
      " FROM packed_metric AS p JOIN packed_steps AS a ON a.id = p.steps "
      "WHERE p.series = ? AND a.s107 > ? ORDER BY p.first_step";
  constexpr int kPoints = static_cast<int>(kPackPoints);
  Query query(connection, kSelect, series, after_step);
  while (query.step()) {
    for (int i = 0; i < kPoints; ++i) {
      const int64_t step = query.integer(i);
      if (step > after_step)
        visit({step, query.real_or_nan(kPoints + i), query.integer(2 * kPoints + i)});
    }
  }
}

int64_t pack_part(Connection& connection, int64_t run) {
  if (!may_be_packed(connection, run)) return 0;
  size_t packs = 0;
  for (const int64_t series : series_with_rows(connection, run)) {
    if (packs >= kPacksInPart) break;
    packs += pack_rows(connection, run, series, kPacksInPart - packs);
  }
  return static_cast<int64_t>(packs * kPackPoints);
}

int64_t unpack_part(Connection& connection, int64_t series, int64_t after_step) {
  const auto first = last_packs(connection, series, after_step);
  if (!first || is_being_purged(connection, series)) return 0;
  const int64_t rows =
      Query(connection,
            "INSERT OR IGNORE INTO metric (series, step, value, time_ms) SELECT series, step, "
            "value, time_ms FROM points WHERE series = ? AND packed = 1 AND pack >= ?",
            series, *first)
          .run();
  const int64_t packs =
      Query(connection, "DELETE FROM packed_metric WHERE series = ? AND first_step >= ?", series,
            *first)
          .run();
  Query(connection,
        "DELETE FROM packed_steps WHERE run = (SELECT run FROM series WHERE id = ?) AND s0 >= ? "
        "AND NOT EXISTS (SELECT 1 FROM packed_metric WHERE steps = packed_steps.id)",
        series, *first)
      .run();
  const int64_t values = packs * static_cast<int64_t>(kPackPoints);
  if (rows < values) recompute_summary(connection, series);  // some were rows too
  return values;
}

void unpack(Connection& connection, int64_t series, int64_t after_step) {
  while (unpack_part(connection, series, after_step) > 0) continue;
}

int64_t unpack_series_in_parts(Connection& connection, int64_t series, int64_t after_step) {
  int64_t values = 0;
  for (int64_t count = 1; count > 0; values += count) {
    count = connection.write("unpack values of", Connection::Durability::written,
                             [&] { return unpack_part(connection, series, after_step); });
  }
  return values;
}

int64_t unpack_in_parts(Connection& connection, int64_t run, int64_t after_step) {
  int64_t values = 0;
  const auto packed =
      connection.guarded("read", [&] { return series_with_packs(connection, run, after_step); });
  for (const int64_t series : packed)
    values += unpack_series_in_parts(connection, series, after_step);
  return values;
}

bool Store::has_unpacked(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] { return !series_with_rows(connection, run).empty(); });
}

bool Store::has_packed(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded(
      "read", [&] { return !series_with_packs(connection, run, kBeforeAllSteps).empty(); });
}

int64_t Store::pack_run(int64_t run) {
  Connection& connection = *impl_->connection;
  int64_t values = 0;
  for (int64_t count = 1; count > 0 && has_unpacked(run); values += count) {
    count = connection.write("pack values of", Connection::Durability::written,
                             [&] { return pack_part(connection, run); });
  }
  return values;
}

int64_t Store::unpack_run(int64_t run) {
  Connection& connection = *impl_->connection;
  const int64_t values = unpack_in_parts(connection, run, kBeforeAllSteps);
  const auto wrong = connection.guarded("read", [&] { return miscounted_series(connection, run); });
  for (const int64_t series : wrong)
    connection.write("sum up values of", Connection::Durability::written,
                     [&] { recompute_summary(connection, series); });
  return values;
}

}  // namespace exprun
