// Bringing the runs of another store in.
#include "store/merge_run_rows.h"
#include "store/merge_values.h"
#include "store/open.h"
#include "store/run_row.h"
#include "store/store_impl.h"

namespace exprun {
namespace {

// The other database under the name "other", for as long as this lives.
class Attached {
 public:
  Attached(Connection& connection, const std::filesystem::path& file) : connection_(connection) {
    connection_.guarded("attach", [&] {
      SQLite::Statement attach(connection_.database(), "ATTACH ? AS other");
      attach.bind(1, database_uri(file, "mode=ro"));  // so that no transaction of ours locks it
      attach.exec();
    });
  }
  ~Attached() {
    connection_.forget_statements();  // an open one keeps the database attached
    connection_.database().tryExec("DETACH other");
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  Connection& connection_;
};

// How far a run has come in one of the two stores.
struct Standing {
  int64_t id = 0, attempt = 0, attempt_began_ms = 0, last_beat_ms = 0;
};

std::optional<Standing> standing(Connection& connection, const std::string& schema,
                                 const std::string& uid) {
  Query query(connection,
              "SELECT r.id, r.attempt, a.started_ms, a.last_beat_ms FROM " + schema +
                  ".run AS r JOIN " + schema +
                  ".attempt AS a ON a.run = r.id AND a.attempt = r.attempt WHERE r.uid = ?",
              uid);
  if (!query.step()) return std::nullopt;
  return Standing{query.integer(0), query.integer(1), query.integer(2), query.integer(3)};
}

// Whether attempt `ours.attempt` is the same in both: then the other's later ones continue it.
bool continues(Connection& connection, const Standing& theirs, const Standing& ours) {
  Query query(connection, "SELECT started_ms FROM other.attempt WHERE run = ? AND attempt = ?",
              theirs.id, ours.attempt);
  return query.step() && query.integer(0) == ours.attempt_began_ms;
}

// (theirs, ours) of the series that both have; `all`, or those whose summaries differ.
std::vector<std::pair<int64_t, int64_t>> series_of_both(Connection& connection, int64_t theirs,
                                                        int64_t ours, bool all) {
  return connection.guarded("read", [&] {
    std::vector<std::pair<int64_t, int64_t>> both;
    Query query(connection,
                "SELECT t.id, o.id FROM other.series AS t JOIN main.series AS o ON o.name = t.name "
                "WHERE t.run = ?1 AND o.run = ?2 AND (?3 OR t.count <> o.count OR "
                "t.last_step IS NOT o.last_step OR t.last IS NOT o.last)",
                theirs, ours, all);
    while (query.step()) both.emplace_back(query.integer(0), query.integer(1));
    return both;
  });
}

// Whether anything was to be done: values that an earlier merge could not finish count.
bool merge_run(Connection& connection, Connection& other, const Standing& theirs,
               const std::optional<Standing>& ours) {
  const bool further =
      !ours || theirs.attempt > ours->attempt || theirs.last_beat_ms > ours->last_beat_ms;
  const int64_t run =
      further ? copy_run(connection, theirs.id, ours ? std::optional(ours->id) : std::nullopt)
              : ours->id;
  const bool same = theirs.attempt == (ours ? ours->attempt : 0) &&
                    theirs.last_beat_ms == (ours ? ours->last_beat_ms : 0);
  if (!further && !same) return false;  // ours is ahead
  const auto series = series_of_both(connection, theirs.id, run, further);
  for (const auto& [from, to] : series) copy_series_values(connection, other, from, {run, to});
  return further || !series.empty();
}

}  // namespace

Store::Merged Store::merge(const std::filesystem::path& other,
                           const std::function<bool(const RunRow&)>& is_running) {
  Connection& connection = *impl_->connection;
  std::error_code ignored;
  if (std::filesystem::equivalent(other, connection.file(), ignored))
    throw store_error("merge", other, "it is this store itself");
  const Store source(other, Access::read_only);  // says what is wrong with it, and migrates it
  const Attached attached(connection, other);
  Merged merged;
  for (const RunRow& row : source.runs()) {
    const auto [theirs, ours] = connection.guarded("read", [&] {
      return std::pair(standing(connection, "other", row.uid),
                       standing(connection, "main", row.uid));
    });
    if (!theirs) continue;  // purged meanwhile
    if (row.state == RunState::running && is_running(row)) {
      merged.kept_out.push_back(row.folder + ": it is still running");
    } else if (ours && ours->attempt <= theirs->attempt &&
               !connection.guarded("read", [&] { return continues(connection, *theirs, *ours); })) {
      merged.kept_out.push_back(row.folder + ": both stores have continued it, each in its way");
    } else {
      const bool changed = merge_run(connection, *source.impl_->connection, *theirs, ours);
      ++(!ours ? merged.added : changed ? merged.updated : merged.unchanged);
    }
  }
  return merged;
}

}  // namespace exprun
