// The experiment store: every run, attempt, metric, checkpoint and sweep in one SQLite file that
// plain SQL can read (FORMAT.md). One object a thread. Every write is one transaction under the
// store's lock; none is left half done. Throws Error with ExitCode::store_error: a foreign or
// corrupt file, a newer format, a read-only folder, a full disk; each says what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/rows.h"

namespace exprun {

class Store {
 public:
  enum class Access { read_only, read_write };

  // read_write makes the file and its folder and migrates an older format; read_only needs it.
  Store(const std::filesystem::path& file, Access access);
  ~Store();
  Store(Store&&) noexcept;

  // --- runs -------------------------------------------------------------------------------
  // Inserts the run, its parameters, blobs and attempt 1 as running. Returns its id.
  int64_t create_run(const NewRun& run);

  // A further attempt of a run, continuing after `from_step` completed steps: rows of later steps
  // are archived and summaries recomputed in the same transaction. Returns the attempt's number.
  int64_t begin_attempt(int64_t run, int64_t from_step);

  // How the current attempt ended; also the state of the run.
  void end_attempt(int64_t run, RunState state, std::optional<int> exit_code,
                   std::optional<int> signal, const std::string& message);

  // Records that the current attempt crashed, if it is the one of `row`, still recorded as running
  // and its lock is free (run_state.h). Returns whether it did. begin_attempt needs no such call:
  // whoever begins an attempt holds the lock, so the one before is over.
  bool settle_crashed(const RunRow& row);

  std::optional<RunRow> run(int64_t id) const;
  // Newest first; `name` and `recipe_hash` filter when not empty.
  std::vector<RunRow> runs(const std::string& name = "", const std::string& recipe_hash = "") const;
  // By id, uid or unique prefix of one, name (its newest run), or "@last". Throws Error with
  // ExitCode::no_such_run that lists the nearest, or the runs that a prefix could mean.
  RunRow find_run(const std::string& reference) const;

  std::string recipe_json(int64_t run) const;
  std::string resolved_toml(int64_t run) const;
  std::vector<ParameterRow> parameters(int64_t run) const;  // sorted by path
  std::vector<AttemptRow> attempts(int64_t run) const;

  // --- series and metrics (written by MetricWriter) -----------------------------------------
  std::vector<SeriesRow> series(int64_t run) const;
  std::vector<MetricRow> metrics(int64_t series, int64_t after_step = -1) const;

  // --- checkpoints, events -----------------------------------------------------------------
  void record_checkpoint(const CheckpointRow& checkpoint);  // durable when it returns
  void forget_checkpoint(int64_t run, int64_t step);        // its folder was removed
  std::vector<CheckpointRow> checkpoints(int64_t run) const;
  void record_event(const EventRow& event);
  std::vector<EventRow> events(int64_t run) const;

  // --- sweeps ------------------------------------------------------------------------------
  // The sweep with this space, or a new one. `space_json` is canonical.
  SweepRow find_or_create_sweep(const std::string& name, const std::string& space_json);
  std::vector<SweepRow> sweeps() const;
  void end_sweep(int64_t sweep, const std::string& state);

  // --- any SQL, read-only --------------------------------------------------------------------
  struct Result {
    std::vector<std::string> columns;
    std::vector<std::vector<std::optional<std::string>>> rows;  // null is absent
    std::vector<std::vector<char>> types;                       // 'i' 'r' 't' 'b' 'n' per cell
  };
  Result query(const std::string& sql) const;

  // What `doctor` prints: SQLite's version, format number, journal mode, integrity_check's answer.
  std::vector<std::pair<std::string, std::string>> health() const;

  const std::filesystem::path& file() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace exprun
