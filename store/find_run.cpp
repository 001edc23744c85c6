// From what a person types to a run.
#include <algorithm>

#include "base/number.h"
#include "base/suggest.h"
#include "store/run_row.h"
#include "store/store_impl.h"

namespace exprun {
namespace {

constexpr size_t kShortestPrefix = 4;
constexpr size_t kShownChoices = 8;

std::string which(Store::Among among) {
  return among == Store::Among::kept ? "WHERE removed_ms IS NULL "
                                     : "WHERE removed_ms IS NOT NULL ";
}

std::vector<RunRow> exact(Connection& connection, const std::string& reference,
                          const std::string& where) {
  if (reference == "@last") return select_runs(connection, where + "ORDER BY run DESC LIMIT 1");
  if (reference == "@best") {
    return select_runs(connection, where +
                                       "AND run = (SELECT s.run FROM series AS s JOIN run AS r "
                                       "ON r.id = s.run AND r.removed_ms IS NULL "
                                       "WHERE s.name = 'val/loss' AND s.min IS NOT NULL "
                                       "ORDER BY s.min, s.run LIMIT 1)");
  }
  if (const auto id = parse_number<int64_t>(reference)) {
    auto rows = select_runs(connection, where + "AND run = ?", *id);
    if (!rows.empty()) return rows;
  }
  return select_runs(connection,
                     where + "AND (uid = ?1 OR name = ?1 OR folder = ?1) ORDER BY run DESC LIMIT 1",
                     reference);
}

std::vector<RunRow> with_prefix(Connection& connection, const std::string& prefix,
                                const std::string& where) {
  if (prefix.size() < kShortestPrefix) return {};
  return select_runs(connection,
                     where +
                         "AND (substr(uid, 1, length(?1)) = ?1 OR "
                         "substr(folder, 1, length(?1)) = ?1) ORDER BY run DESC",
                     prefix);
}

std::vector<RunRow> matching(Connection& connection, const std::string& reference,
                             Store::Among among) {
  auto rows = exact(connection, reference, which(among));
  return rows.empty() ? with_prefix(connection, reference, which(among)) : rows;
}

std::string list(const std::vector<RunRow>& rows) {
  std::string text;
  for (size_t i = 0; i < std::min(rows.size(), kShownChoices); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(rows[i].id) + " (" + rows[i].name + ", " +
            rows[i].uid.substr(0, 12) + ")";
  }
  return rows.size() > kShownChoices ? text + ", ..." : text;
}

std::string advice(Connection& connection, const std::string& reference, Store::Among among) {
  if (among == Store::Among::removed) return " is removed; `exprun ls --removed` lists those";
  if (reference == "@best") return "; no run has a finite val/loss yet";
  if (!matching(connection, reference, Store::Among::removed).empty())
    return "; it was removed: `exprun restore " + reference + "` brings it back";
  std::vector<std::string> names;
  Query query(connection,
              "SELECT name FROM run WHERE removed_ms IS NULL GROUP BY name ORDER BY max(id) DESC");
  while (query.step()) names.push_back(query.text(0));
  if (names.empty()) return "; it has no runs yet";
  const auto nearest_name = nearest(reference, names);
  return nearest_name ? "; did you mean '" + *nearest_name + "'?" : "; `exprun ls` lists its runs";
}

}  // namespace

RunRow Store::find_run(const std::string& reference, Among among) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<RunRow> rows = matching(connection, reference, among);
    if (rows.size() == 1) return std::move(rows.front());
    if (rows.empty()) {
      throw Error("store: no run '" + reference + "' in '" + connection.file().string() + "'" +
                      advice(connection, reference, among),
                  ExitCode::no_such_run);
    }
    throw Error("store: '" + reference + "' could mean several runs: " + list(rows),
                ExitCode::no_such_run);
  });
}

}  // namespace exprun
