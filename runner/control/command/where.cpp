#include "control/command/where.h"

#include <algorithm>

#include "base/clock.h"
#include "base/suggest.h"
#include "control/command/known_state.h"
#include "control/report/condition.h"
#include "control/report/ls_table.h"
#include "control/report/table_selection.h"

namespace exprun {
namespace {

using Runs = std::vector<ReportedRun>;
using Cells = std::vector<Cell>;  // one a run

// Of a column or series, whose values are numbers in every run. A parameter may be either.
void require_number(const Condition& condition) {
  if (condition.value.as_number()) return;
  refuse_condition(condition.text,
                   condition.key + " is a number, and '" + condition.word + "' is none");
}

std::optional<Cells> column_of_ls(const Runs& runs, const Condition& condition) {
  const ResultTable table = ls_table(runs, now_ms());
  const auto column = find_column(table, condition.key);
  if (!column) return std::nullopt;
  if (table.columns[*column].right) require_number(condition);
  Cells cells;
  for (const auto& row : table.rows) cells.push_back(row[*column]);
  return cells;
}

// An empty text is a value here.
Cell cell_of_parameter(const std::string& toml) {
  return toml == "\"\"" ? Cell::word("") : value_cell(toml);
}

Cells parameter_of(const Store& store, const Runs& runs, const std::string& path) {
  const auto values = store.parameter_by_run(path);
  Cells cells;
  for (const ReportedRun& run : runs) {
    const auto value = values.find(run.run.id);
    cells.push_back(value == values.end() ? Cell::none() : cell_of_parameter(value->second));
  }
  return cells;
}

Cell summary_cell(const SeriesRow& series, const std::string& which) {
  if (which.empty()) return series.count ? Cell::number(series.last) : Cell::none();
  if (series.count == series.non_finite) return Cell::none();
  return Cell::number(which == ".min" ? series.min : series.max);
}

// "val/loss" is its last value, "val/loss.min" its lowest, "val/loss.max" its highest.
std::optional<Cells> series_of(const Store& store, const Runs& runs, const Condition& condition) {
  const std::string& key = condition.key;
  for (const std::string which : {"", ".min", ".max"}) {
    if (!key.ends_with(which)) continue;
    const auto found = store.series_by_run(key.substr(0, key.size() - which.size()));
    if (found.empty()) continue;
    require_number(condition);
    Cells cells;
    for (const ReportedRun& run : runs) {
      const auto series = found.find(run.run.id);
      cells.push_back(series == found.end() ? Cell::none() : summary_cell(series->second, which));
    }
    return cells;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_unknown(const Store& store, const Condition& condition,
                                 const std::vector<std::string>& paths) {
  std::vector<std::string> names = store.series_names();
  for (std::string& name : column_names(ls_table({}, 0))) names.push_back(std::move(name));
  for (const std::string& path : paths) {
    names.push_back(path);
    names.push_back(path.substr(path.rfind('.') + 1));
  }
  const auto near = nearest(condition.key, names);
  refuse_condition(condition.text, "no run has a parameter or series '" + condition.key +
                                       "', and ls no such column" +
                                       (near ? "; did you mean '" + *near + "'?" : ""));
}

// A short key, as overrides take it: the only path that ends in it.
std::string path_ending_in(const Store& store, const Condition& condition,
                           const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const std::string& path : paths)
    if (path.ends_with('.' + condition.key)) found.push_back(path);
  if (found.empty()) refuse_unknown(store, condition, paths);
  if (found.size() == 1) return found.front();
  std::string all;
  for (const std::string& path : found) all += (all.empty() ? "" : " or ") + path;
  refuse_condition(condition.text,
                   "'" + condition.key + "' names several parameters: write " + all);
}

Cells values_of(const Store& store, const Runs& runs, const Condition& condition) {
  const std::string& key = condition.key;
  if (key == "tags") refuse_condition(condition.text, "--tag WORD is how a tag is asked for");
  if (key == "state" && condition.word != "unknown")  // ls says so of a run of another host
    require_state("command line: --where '" + condition.text + "'", condition.word);
  if (auto cells = column_of_ls(runs, condition)) return *cells;
  const auto paths = store.parameter_paths();
  if (std::find(paths.begin(), paths.end(), key) != paths.end())
    return parameter_of(store, runs, key);
  if (auto cells = series_of(store, runs, condition)) return *cells;
  return parameter_of(store, runs, path_ending_in(store, condition, paths));
}

}  // namespace

void Where::declare(Arguments& arguments) {
  arguments.option("--where", "CONDITION", conditions,
                   "only runs of which it holds: a parameter (lr>1e-4, optimizer.type=muon), the "
                   "last value of a series (val/loss<3.2; val/loss.min and .max: its lowest, its "
                   "highest) or a column of ls (step>=500), compared by = != < <= > >=; given "
                   "several times, all must hold");
}

void Where::keep_matching(const Store& store, Runs& runs) const {
  std::vector<Condition> parsed;
  for (const std::string& text : conditions) parsed.push_back(parse_condition(text));
  std::vector<bool> kept(runs.size(), true);
  for (const Condition& condition : parsed) {
    const Cells cells = values_of(store, runs, condition);
    for (size_t i = 0; i < runs.size(); ++i) kept[i] = kept[i] && holds(condition, cells[i]);
  }
  size_t i = 0;
  std::erase_if(runs, [&](const ReportedRun&) { return !kept[i++]; });
}

}  // namespace exprun
