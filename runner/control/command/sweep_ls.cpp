// exprun sweep ls
#include "base/clock.h"
#include "base/format_units.h"
#include "control/command/line/table_format.h"
#include "control/command/stored/stored_runs.h"
#include "control/command/sweep.h"
#include "control/sweep/stored_sweeps.h"

namespace exprun {
namespace {

Tone tone_of(const std::string& state) {
  if (state == "finished") return Tone::good;
  if (state == "failed") return Tone::bad;
  return state == "running" ? Tone::active : Tone::plain;
}

// As short as its axes can be told apart: "lr=0.001".
Cell point_cell(const StoredSweep& sweep, const std::string& changes) {
  const std::vector<Column> columns = AxisColumns(sweep.points()).columns();
  AxisValues point = axis_values(changes);
  for (auto& [axis, value] : point)
    if (const auto column = find_column(columns, axis)) axis = columns[*column].title;
  return {changes, point.empty() ? changes : to_string(point)};
}

std::vector<Cell> cells_of(const StoredSweep& sweep, int64_t now) {
  const auto best = sweep.best_point();
  return {Cell::integer(sweep.row.id),
          Cell::word(sweep.row.name),
          Cell::word(sweep.state, tone_of(sweep.state)),
          Cell::integer(static_cast<int64_t>(sweep.trials.size())),
          Cell::integer(sweep.count("finished")),
          Cell::integer(sweep.count("pruned")),
          Cell::integer(sweep.count("failed") + sweep.count("diverged")),
          Cell::word(sweep.plan.metric),
          best ? Cell::number(best->value()) : Cell::none(),
          best ? point_cell(sweep, best->changes) : Cell::none(),
          {sweep.row.started_ms, age(sweep.row.started_ms, now)}};
}

}  // namespace

int run_sweep_ls(const Words& words, const Globals& globals) {
  TableFormat format;
  Arguments arguments("sweep ls", "Lists the sweeps, newest first.");
  format.declare(arguments);
  arguments.exit_codes(kFindsRuns).example("exprun sweep ls", "every sweep in the store");
  if (!arguments.parse(words)) return 0;
  ResultTable table{{{"sweep", "sweep", true},
                     {"name", "name"},
                     {"state", "state"},
                     {"trials", "trials", true},
                     {"finished", "finished", true},
                     {"pruned", "pruned", true, 3},
                     {"failed", "failed", true, 2},
                     {"metric", "metric", false, 2},
                     {"best", "best", true, 1},
                     {"best_changes", "of", false, 1},
                     {"started_ms", "started", true, 4}},
                    {}};
  const Store store = open_store(globals.store);
  for (const SweepRow& row : store.sweeps())
    table.rows.push_back(cells_of(stored_sweep(store, globals.store, row), now_ms()));
  format.print(table, "there are no sweeps yet; exprun sweep RECIPE key=a,b,c runs one");
  return 0;
}

}  // namespace exprun
