// Runs as rows: `report` says what was changed and what came of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/report/table.h"
#include "store/rows.h"

namespace exprun {

// What a table needs of one run, read from the store beforehand.
struct ReportedRun {
  RunRow run;  // in its observed state
  std::vector<ParameterRow> parameters;
  std::optional<SeriesRow> val_loss, train_loss;
};

// The best val loss first; runs without one last, newest first.
ResultTable report_table(std::vector<ReportedRun> runs);

// Paths that a run changed and whose value is not the same in all, in the order first seen.
std::vector<std::string> changed_paths(const std::vector<ReportedRun>& runs);

// "optimizer.lr" -> "lr", as long as no other of the paths ends so.
std::string short_title(const std::string& path, const std::vector<std::string>& all);

std::string bare_text(const std::string& toml);  // without the quotes of a string
// A value as TOML writes it, without the quotes of a string.
Cell value_cell(const std::string& toml);
// That of the key with this path, if the run has it.
Cell parameter_cell(const ReportedRun& run, const std::string& path);

Cell state_cell(RunState state);
// A run of another host that nobody can ask is "unknown", with its last sign of life.
Cell state_cell(const RunRow& run, int64_t now_ms);
Cell best_loss(const std::optional<SeriesRow>& series);
Cell best_step(const std::optional<SeriesRow>& series);
Cell last_loss(const std::optional<SeriesRow>& series);
Cell steps_cell(const RunRow& run);  // "250/300"

// Runs as `ls` lists them: how they stand.

// Every column that `ls` knows, and the keys of those that it shows by itself.
ResultTable ls_table(const std::vector<ReportedRun>& runs, int64_t now_ms);
std::vector<std::string> ls_columns(const std::vector<ReportedRun>& runs);

// A row for each column: its name, its header and what it is.
ResultTable ls_columns_explained();

// The lives of a run's processes.

// A row each.
ResultTable attempts_table(const std::vector<AttemptRow>& attempts);

}  // namespace exprun
