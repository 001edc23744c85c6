// From what a person types to a run.
#include <algorithm>
#include <charconv>

#include "base/suggest.h"
#include "store/run_row.h"
#include "store/store_impl.h"

namespace exprun {
namespace {

constexpr size_t kShortestPrefix = 4;
constexpr size_t kShownChoices = 8;

std::optional<int64_t> as_id(const std::string& text) {
  int64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc() || stop != end) return std::nullopt;
  return id;
}

std::vector<RunRow> newest(Connection& connection, const std::string& reference) {
  if (reference == "@last") return select_runs(connection, "ORDER BY run DESC LIMIT 1");
  if (const auto id = as_id(reference)) {
    auto rows = select_runs(connection, "WHERE run = ?", *id);
    if (!rows.empty()) return rows;
  }
  return select_runs(connection,
                     "WHERE uid = ?1 OR name = ?1 OR folder = ?1 ORDER BY run DESC LIMIT 1",
                     reference);
}

std::vector<RunRow> with_prefix(Connection& connection, const std::string& prefix) {
  if (prefix.size() < kShortestPrefix) return {};
  return select_runs(connection, "WHERE substr(uid, 1, length(?1)) = ?1 ORDER BY run DESC", prefix);
}

std::string list(const std::vector<RunRow>& rows) {
  std::string text;
  for (size_t i = 0; i < std::min(rows.size(), kShownChoices); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(rows[i].id) + " (" + rows[i].name + ", " +
            rows[i].uid.substr(0, 12) + ")";
  }
  return rows.size() > kShownChoices ? text + ", ..." : text;
}

std::string advice(Connection& connection, const std::string& reference) {
  std::vector<std::string> names;
  Query query(connection, "SELECT name FROM run GROUP BY name ORDER BY max(id) DESC");
  while (query.step()) names.push_back(query.text(0));
  if (names.empty()) return "; it has no runs yet";
  const auto nearest_name = nearest(reference, names);
  return nearest_name ? "; did you mean '" + *nearest_name + "'?" : "; `exprun ls` lists its runs";
}

}  // namespace

RunRow Store::find_run(const std::string& reference) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<RunRow> rows = newest(connection, reference);
    if (rows.empty()) rows = with_prefix(connection, reference);
    if (rows.size() == 1) return std::move(rows.front());
    if (rows.empty()) {
      throw Error("store: no run '" + reference + "' in '" + connection.file().string() + "'" +
                      advice(connection, reference),
                  ExitCode::no_such_run);
    }
    throw Error("store: '" + reference + "' could mean several runs: " + list(rows),
                ExitCode::no_such_run);
  });
}

}  // namespace exprun
