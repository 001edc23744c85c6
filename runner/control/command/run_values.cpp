#include "control/command/run_values.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/diagnostic.h"
#include "base/suggest.h"
#include "base/word_list.h"
#include "control/report/ls_table.h"
#include "control/report/table_selection.h"
#include "recipe/key_path.h"

namespace exprun {
namespace {

using Runs = std::vector<ReportedRun>;

[[noreturn]] void refuse(const std::string& said, const std::string& reason) {
  throw Error("command line: " + said + ": " + reason, ExitCode::bad_recipe);
}

std::optional<RunValues> column_of_ls(const Runs& runs, const std::string& name) {
  const ResultTable table = ls_table(runs, now_ms());
  const auto column = find_column(table, name);
  if (!column) return std::nullopt;
  RunValues values{{}, table.columns[*column].right};
  for (const auto& row : table.rows) values.cells.push_back(row[*column]);
  return values;
}

// An empty text is a value here.
Cell cell_of_parameter(const std::string& toml) {
  return toml == "\"\"" ? Cell::word("") : value_cell(toml);
}

RunValues parameter_of(const Store& store, const Runs& runs, const std::string& path) {
  const auto by_run = store.parameter_by_run(path);
  RunValues values;
  for (const ReportedRun& run : runs) {
    const auto value = by_run.find(run.run.id);
    values.cells.push_back(value == by_run.end() ? Cell::none() : cell_of_parameter(value->second));
  }
  return values;
}

Cell summary_cell(const SeriesRow& series, const std::string& which) {
  if (which.empty()) return series.count ? Cell::number(series.last) : Cell::none();
  if (series.count == series.non_finite) return Cell::none();
  return Cell::number(which == ".min" ? series.min : series.max);
}

std::optional<RunValues> series_of(const Store& store, const Runs& runs, const std::string& name) {
  for (const std::string which : {"", ".min", ".max"}) {
    if (!name.ends_with(which)) continue;
    const auto found = store.series_by_run(name.substr(0, name.size() - which.size()));
    if (found.empty()) continue;
    RunValues values{{}, true};
    for (const ReportedRun& run : runs) {
      const auto series = found.find(run.run.id);
      values.cells.push_back(series == found.end() ? Cell::none()
                                                   : summary_cell(series->second, which));
    }
    return values;
  }
  return std::nullopt;
}

// "lr" of "last(lr)".
std::optional<std::string> inside_of_last(const std::string& name) {
  constexpr std::string_view kLast = "last(";
  if (!name.starts_with(kLast) || !name.ends_with(')')) return std::nullopt;
  return name.substr(kLast.size(), name.size() - kLast.size() - 1);
}

// The paths that a name may mean, as overrides take it.
std::vector<std::string> paths_named(const std::string& name, std::vector<std::string> paths) {
  if (std::find(paths.begin(), paths.end(), name) != paths.end()) return {name};
  std::erase_if(paths, [&](const std::string& path) { return !path.ends_with('.' + name); });
  return preferred_paths(std::move(paths));
}

[[noreturn]] void refuse_unknown(const Store& store, const std::string& name,
                                 const std::vector<std::string>& paths, const std::string& said) {
  std::vector<std::string> names = store.series_names();
  for (std::string& column : column_names(ls_table({}, 0))) names.push_back(std::move(column));
  for (const std::string& path : paths) {
    names.push_back(path);
    names.push_back(path.substr(path.rfind('.') + 1));
  }
  const auto near = nearest(name, names);
  refuse(said, "no run has a parameter or series '" + name + "', and ls no such column" +
                   (near ? "; did you mean '" + *near + "'?" : ""));
}

[[noreturn]] void refuse_several(const Store& store, const std::string& name,
                                 std::vector<std::string> meant, const std::string& said) {
  std::string things = "parameters";
  if (!store.series_by_run(name).empty()) {
    things += " and a series";
    meant.push_back("last(" + name + ")");
  }
  refuse(said, "'" + name + "' names several " + things + ": write " + alternatives(meant));
}

}  // namespace

RunValues values_named(const Store& store, const Runs& runs, const std::string& name,
                       const std::string& said) {
  if (auto values = column_of_ls(runs, name)) return *values;
  const auto paths = store.parameter_paths();
  const auto meant = paths_named(name, paths);
  if (meant.size() > 1) refuse_several(store, name, meant, said);
  if (meant.size() == 1) return parameter_of(store, runs, meant.front());
  if (auto values = series_of(store, runs, inside_of_last(name).value_or(name))) return *values;
  refuse_unknown(store, name, paths, said);
}

}  // namespace exprun
