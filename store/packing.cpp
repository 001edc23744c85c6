#include "store/packing.h"

#include <span>
#include <string>
#include <vector>

#include "store/packed_points.h"
#include "store/store_impl.h"

namespace exprun {
namespace {

using Points = std::vector<StampedValue>;
using Pack = std::span<const StampedValue>;

// ", ?" for so many columns of each point.
std::string places(size_t columns) {
  std::string sql;
  for (size_t i = 0; i < columns * kPackPoints; ++i) sql += ", ?";
  return sql;
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
      "SELECT id FROM packed_steps WHERE run = ? AND " + pack_columns("st", " AND ", " = ?");
  static const std::string kInsert =
      "INSERT INTO packed_steps (run, " + pack_columns("st") + ") VALUES (?" + places(2) + ")";
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
                                     pack_columns("v") + ") VALUES (?, ?, ?" + places(1) + ")";
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

bool may_be_packed(Connection& connection, int64_t run) {
  Query query(connection,
              "SELECT 1 FROM run AS r JOIN attempt AS a ON a.run = r.id AND a.attempt = r.attempt "
              "WHERE r.id = ? AND r.removed_ms IS NULL AND a.ended_ms IS NOT NULL",
              run);
  return query.step();
}

}  // namespace

int64_t pack_part(Connection& connection, int64_t run) {
  if (!may_be_packed(connection, run)) return 0;
  size_t packs = 0;
  for (const int64_t series : series_with_rows(connection, run)) {
    if (packs >= kPacksInPart) break;
    packs += pack_rows(connection, run, series, kPacksInPart - packs);
  }
  return static_cast<int64_t>(packs * kPackPoints);
}

bool Store::has_unpacked(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] { return !series_with_rows(connection, run).empty(); });
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

}  // namespace exprun
