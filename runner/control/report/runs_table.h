// Runs as `ls` lists them, and the cells that tables of runs share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/report/expression.h"
#include "control/report/table.h"
#include "store/rows.h"

namespace exprun {

// What a table needs of one run, read from the store beforehand.
struct ReportedRun {
  RunRow run;  // in its observed state
  std::vector<ParameterRow> parameters;
  std::optional<SeriesRow> val_loss, train_loss;
};

std::vector<int64_t> ids_of(const std::vector<ReportedRun>& runs);  // in their order

std::vector<std::string> state_names();                        // as they are recorded
std::vector<std::string> shown_state_names();                  // and those that tables have besides
bool is_in_state(const RunRow& run, const std::string& name);  // by any of them

// Whether the column of this key tells which run a row is: without one it could be any run's.
bool names_a_run(const std::string& column);
bool has_tag(const RunRow& run, const std::string& tag);

// "optimizer.lr" -> "lr": the shortest end that means this one of all paths, as an override would.
std::string short_title(const std::string& path, const std::vector<std::string>& all);

Cell state_cell(RunState state);
// A run of another host that nobody can ask is "unknown"; with the time, also its last sign of
// life.
Cell state_cell(const RunRow& run);
Cell state_cell(const RunRow& run, int64_t now_ms);

// A value of the series of this name: one that counts has whole numbers.
Cell series_cell(const std::string& series, double value);

// The last, lowest or highest value of a series (a plain name means the last), and its step.
Cell summary_cell(const std::optional<SeriesRow>& series, ValueName::Which which);
Cell summary_step(const std::optional<SeriesRow>& series, ValueName::Which which);

Cell steps_cell(const RunRow& run);  // "250/300"

// What is to be said where runs with losses were trained on different data; else empty. A loss per
// token says nothing beside one of other tokens.
std::string different_data(const std::vector<RunRow>& with_losses);

// Runs as `ls` lists them: how they stand.

// Every column that `ls` knows, and the keys of those that it shows by itself.
ResultTable ls_table(const std::vector<ReportedRun>& runs, int64_t now_ms);
std::vector<std::string> ls_columns(const std::vector<ReportedRun>& runs);

// The cells of one column, by its key or header; nothing if `ls` has no such column.
std::optional<RunValues> ls_cells(const std::vector<ReportedRun>& runs, const std::string& name,
                                  int64_t now_ms);

// A row for each column: its name, its header and what it is.
ResultTable ls_columns_explained();

// A row for each attempt of a run.
ResultTable attempts_table(const std::vector<AttemptRow>& attempts);

}  // namespace exprun
