// The experiment store: every run, attempt, metric, checkpoint and sweep in one SQLite file that
// plain SQL can read (FORMAT.md). One object a thread. Every write is one transaction under the
// store's lock; none is left half done. Throws Error with ExitCode::store_error: a foreign or
// corrupt file, a newer format, a read-only folder, a full disk; each says what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/rows.h"

namespace exprun {

class Connection;

class Store {
 public:
  enum class Access { read_only, read_write };

  // read_write makes the file and its folder and migrates an older format; read_only needs it.
  Store(const std::filesystem::path& file, Access access);
  ~Store();
  Store(Store&&) noexcept;

  // Whether a database is a store, of whatever format, or an empty one, that becomes a store.
  // Throws Error for a file that is no database.
  static bool is_store(const std::filesystem::path& file);

  // --- runs -------------------------------------------------------------------------------
  // Inserts the run, its parameters, blobs and attempt 1 as running. Returns its id.
  int64_t create_run(const NewRun& run);

  // A further attempt of a run, continuing after `from_step` completed steps: rows of later steps
  // are archived and summaries recomputed in the same transaction. With a changed recipe the run
  // becomes one of that recipe; what its earlier attempts ran stays theirs (AttemptRow). Returns
  // the attempt's number.
  int64_t begin_attempt(int64_t run, int64_t from_step, const Provenance& provenance = {},
                        const std::optional<ChangedRecipe>& changed = {});

  // How the current attempt ended; also the state of the run.
  void end_attempt(int64_t run, RunState state, std::optional<int> exit_code,
                   std::optional<int> signal, const std::string& message);

  // The current attempt goes back to `step` completed steps: rows of later ones are archived as by
  // begin_attempt. Everything pushed before is committed.
  void roll_back(int64_t run, int64_t step);

  // Records how the attempt of `row` ended, if that is still the current one, recorded as running,
  // and is over (as_observed of run_state.h). Returns whether it did. begin_attempt needs no such
  // call: whoever begins an attempt holds the lock, so the one before is over.
  bool reconcile_state(const RunRow& row);
  void reconcile_all();  // every run that is recorded as running

  // Records that the attempt of `row` crashed on another host, where only the caller can know that:
  // if it is still the current one, recorded as running. Returns whether it did.
  bool give_up(RunRow row, const std::string& message);

  // What the trainer knows of the libraries that it runs on, as JSON.
  void record_libraries(int64_t run, int64_t attempt, const std::string& json);

  std::optional<RunRow> run(int64_t id) const;
  // Newest first, by their start, without removed ones; `name` and `recipe_hash` filter when not
  // empty.
  std::vector<RunRow> runs(const std::string& name = "", const std::string& recipe_hash = "") const;
  // Those of this name that ran this recipe before they were extended, newest first.
  std::vector<RunRow> extended_runs(const std::string& name, const std::string& recipe_hash) const;
  std::vector<RunRow> removed_runs() const;
  // By "@last", "@best" (the best of all runs by the newest run's best_metric and best_goal), id,
  // uid or folder, name (all its runs, newest first), or the unique prefix of a uid or folder,
  // tried in this order; never none. Throws Error with ExitCode::no_such_run that lists the
  // nearest, or the runs that a prefix could mean.
  enum class Among { kept, removed };
  std::vector<RunRow> runs_meant_by(const std::string& reference, Among among = Among::kept) const;
  RunRow find_run(const std::string& reference, Among among = Among::kept) const;  // the newest
  // The ids of all runs that "@best" compares, the best first.
  std::vector<int64_t> runs_best_first() const;

  std::string recipe_json(int64_t run) const;
  std::string resolved_toml(int64_t run) const;
  std::vector<ParameterRow> parameters(int64_t run) const;  // sorted by path
  // The same of many runs, by run.
  std::map<int64_t, std::vector<ParameterRow>> parameters(const std::vector<int64_t>& runs) const;
  // The TOML text of one parameter of every run that has it, and all paths that any run has had.
  std::map<int64_t, std::string> parameter_by_run(const std::string& path) const;
  std::vector<std::string> parameter_paths() const;
  // Those that one of these runs has changed: that tell runs apart and are not at their default.
  std::vector<std::string> changed_parameter_paths(const std::vector<int64_t>& runs) const;
  // All runs that have changed one.
  std::set<int64_t> runs_that_changed(const std::string& path) const;
  std::vector<AttemptRow> attempts(int64_t run) const;
  // "environment" (JSON), "libraries" (JSON) or "diff" of an attempt; "recipe", "resolved" and
  // "recipe_hash" of the last one that ran a recipe before it was changed. Empty when it has none.
  std::string attempt_text(int64_t run, int64_t attempt, const std::string& kind) const;

  // --- tags and notes (annotations.cpp) -------------------------------------------------------
  void add_tag(int64_t run, const std::string& name);
  bool remove_tag(int64_t run, const std::string& name);  // whether it had it
  std::vector<std::string> tags(int64_t run) const;       // sorted
  void add_note(int64_t run, const std::string& text);
  std::vector<NoteRow> notes(int64_t run) const;

  // --- removing (removal.cpp) ------------------------------------------------------------------
  // A removed run is no longer listed, found or continued, until it is restored or purged.
  void remove_run(int64_t run);
  // False when its purge has begun: what is left of it is not a run any more.
  bool restore_run(int64_t run);
  // Takes everything of a removed run out of the store, in parts, each in a transaction of its own,
  // so that memory, WAL and the stall of others stay small. `remove_folder` is called when it can
  // no longer be restored and before the store forgets it. Killed in between, it goes on when
  // called again.
  void purge_run(int64_t run, const std::function<void()>& remove_folder);
  int64_t archived_values(int64_t run) const;  // how many values of earlier attempts there are
  int64_t purge_archived(int64_t run);         // removes them; returns how many
  int64_t purge_blobs();                       // texts that nothing refers to; returns how many
  int64_t return_space();  // gives free pages back to the file system; returns bytes

  // --- another store (merge.cpp) -----------------------------------------------------------------
  struct Merged {
    int64_t added = 0, updated = 0, unchanged = 0;
    std::vector<std::string> kept_out;  // "quickstart-1a2b3c4d: is still running"
  };
  // Brings in the runs of another store by uid, and its sweeps with their trials. Of a run that
  // both have, the further one is taken, when it continues ours; notes and results of `eval` come
  // along in any case, also those that were removed here, and tags as they were changed last, here
  // or there. Of a result that both have, and of
  // one that was measured with other settings, ours stays. Merging again changes nothing else.
  // `is_running` is asked of runs that the other store calls running.
  Merged merge(const std::filesystem::path& other,
               const std::function<bool(const RunRow&)>& is_running);

  // --- series and metrics (written by MetricWriter) -----------------------------------------
  std::vector<SeriesRow> series(int64_t run) const;
  std::vector<MetricRow> metrics(int64_t series, int64_t after_step = -1) const;  // the live values
  // The same without a list of them; `visit` must not read values of this Store.
  void each_metric(int64_t series, const std::function<void(const MetricRow&)>& visit) const;
  // The series of that name of every run that has it.
  std::map<int64_t, SeriesRow> series_by_run(const std::string& name) const;
  std::vector<std::string> series_names() const;  // of all runs, each once
  // The runs whose series of that name has this infinite value, which its extremes leave out.
  std::set<int64_t> runs_with_infinity(const std::string& name, double infinity) const;
  // The live values of that series at a step, by run.
  std::map<int64_t, double> values_at(const std::string& name, int64_t step) const;
  // At most `most` live values of a series, the first and the last among them, at about equal
  // distances of steps; however long it is, no more are read.
  std::vector<MetricRow> thinned_metrics(int64_t series, int64_t most) const;
  // Every value of a run, a row at a time, by series and step; before them those of the series that
  // later attempts replaced, by attempt and step, when `archived`.
  void each_value(int64_t run, bool archived,
                  const std::function<void(const ValueRow&)>& visit) const;

  // Results of `exprun eval` at a step, as the series eval/NAME: those of the run's own evaluations
  // stay as they are. A second result of the same step replaces the first.
  void record_evaluation(int64_t run, int64_t step, const std::map<std::string, double>& metrics);

  // --- checkpoints, events -------------------------------------------------------------------
  void record_checkpoint(const CheckpointRow& checkpoint);  // durable when it returns
  void forget_checkpoint(int64_t run, int64_t step);        // its folder was removed
  std::vector<CheckpointRow> checkpoints(int64_t run) const;
  void record_event(const EventRow& event);
  std::vector<EventRow> events(int64_t run) const;

  // --- sweeps ------------------------------------------------------------------------------
  // The sweep with this space, or a new one. `space_json` is canonical.
  SweepRow find_or_create_sweep(const std::string& name, const std::string& space_json);
  std::optional<SweepRow> sweep(int64_t id) const;
  std::vector<SweepRow> sweeps() const;  // newest first
  // Known ones stay, and get the run where one is given.
  void record_trials(int64_t sweep, const std::vector<TrialRow>& trials);
  // A run that was there before; that of a new run is set as create_run inserts it.
  void record_trial_run(int64_t sweep, int64_t trial, int64_t run);
  // By id, name (its newest sweep), the beginning of its uid, or "@last". Throws Error with
  // ExitCode::no_such_run that names the nearest, or those that there are.
  SweepRow find_sweep(const std::string& reference) const;
  std::vector<int64_t> runs_of_sweep(int64_t sweep) const;  // by trial; removed ones are left out
  std::vector<int64_t> sweeps_with_run(int64_t run) const;  // a run may be a trial of several
  void record_trial_problem(int64_t sweep, int64_t trial, const std::string& problem);
  std::vector<TrialRow> trials(int64_t sweep) const;  // by number

  // --- any SQL, read-only --------------------------------------------------------------------
  struct Result {
    std::vector<std::string> columns;
    std::vector<std::vector<std::optional<std::string>>> rows;  // null is absent
    std::vector<std::vector<char>> types;                       // 'i' 'r' 't' 'b' 'n' per cell
  };
  Result query(const std::string& sql) const;

  // What `doctor` prints: SQLite's version, format number, journal mode, integrity_check's
  // answer, and whether the values are what their series say ("values").
  std::vector<std::pair<std::string, std::string>> health() const;

  const std::filesystem::path& file() const;

 private:
  std::unique_ptr<Connection> connection_;
};

}  // namespace exprun
