#include "control/report/compare/run_groups.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "control/report/compare/spread.h"

namespace exprun {
namespace {

// "finished", or "2 of 3 finished"
Cell states_cell(const std::vector<ReportedRun>& runs, const std::vector<size_t>& group) {
  const RunRow& first = runs[group.front()].run;
  const auto is_like_first = [&](size_t run) {
    return runs[run].run.state == first.state && ended_early(runs[run].run) == ended_early(first);
  };
  if (std::all_of(group.begin(), group.end(), is_like_first)) return state_cell(first);
  const auto finished = std::count_if(group.begin(), group.end(), [&](size_t run) {
    return runs[run].run.state == RunState::finished;
  });
  return Cell::word(std::to_string(finished) + " of " + std::to_string(group.size()) + " finished");
}

// The finished runs, as a sweep ranks them: what a run had when it diverged or stopped would drown
// them. All where none has finished.
std::vector<size_t> averaged_runs(const std::vector<ReportedRun>& runs,
                                  const std::vector<size_t>& group) {
  std::vector<size_t> finished;
  for (const size_t run : group)
    if (runs[run].run.state == RunState::finished) finished.push_back(run);
  return finished.empty() ? group : finished;
}

Spread spread_of(const ComparedColumn& metric, const std::vector<size_t>& averaged) {
  std::vector<double> values;
  for (const size_t run : averaged)
    if (const auto value = metric.cells[run].as_number()) values.push_back(*value);
  return exprun::spread_of(std::move(values));
}

void add_spreads(std::vector<ComparedColumn>& columns, const ComparedColumn& metric,
                 const std::vector<Spread>& spreads, bool for_programs) {
  ComparedColumn mean{metric.column, {}, metric.goal, true, metric.series};
  ComparedColumn deviation{{metric.column.key + "_std", "", true}, {}};
  ComparedColumn count{{metric.column.key + "_n", "", true}, {}};
  for (const Spread& spread : spreads) {
    const bool some = spread.count > 0, several = spread.count > 1;
    mean.cells.push_back(some ? Cell::number(spread.mean, to_string(spread)) : Cell::none());
    deviation.cells.push_back(several ? Cell::number(spread.deviation) : Cell::none());
    count.cells.push_back(Cell::integer(static_cast<int64_t>(spread.count)));
  }
  columns.push_back(std::move(mean));
  if (!for_programs) return;
  columns.push_back(std::move(deviation));
  columns.push_back(std::move(count));
}

}  // namespace

std::vector<std::vector<size_t>> groups_of(const std::vector<ComparedColumn>& by, size_t runs) {
  std::vector<std::vector<size_t>> groups;
  std::map<std::vector<std::string>, size_t> known;
  for (size_t run = 0; run < runs; ++run) {
    std::vector<std::string> values;
    for (const ComparedColumn& column : by) {
      const Cell& cell = column.cells[run];
      values.push_back(cell.value.index() == 0 ? "" : "=" + cell.text);
    }
    const auto [group, added] = known.emplace(std::move(values), groups.size());
    if (added) groups.emplace_back();
    groups[group->second].push_back(run);
  }
  return groups;
}

std::vector<ComparedColumn> columns_of_groups(const std::vector<ReportedRun>& runs,
                                              const std::vector<std::vector<size_t>>& groups,
                                              const std::vector<ComparedColumn>& by,
                                              const std::vector<ComparedColumn>& metrics,
                                              bool for_programs) {
  std::vector<ComparedColumn> columns;
  for (const ComparedColumn& parameter : by) {
    ComparedColumn& column = columns.emplace_back(ComparedColumn{parameter.column, {}});
    column.column.priority = 0;
    column.if_different = parameter.if_different;
    for (const auto& group : groups) column.cells.push_back(parameter.cells[group.front()]);
  }
  ComparedColumn sizes{{"runs", "runs", true, kPriorityStep}, {}};
  for (const auto& group : groups)
    sizes.cells.push_back(Cell::integer(static_cast<int64_t>(group.size())));
  columns.push_back(std::move(sizes));
  for (const ComparedColumn& metric : metrics) {
    if (!metric.averaged) continue;
    std::vector<Spread> spreads;
    for (const auto& group : groups)
      spreads.push_back(spread_of(metric, averaged_runs(runs, group)));
    add_spreads(columns, metric, spreads, for_programs);
  }
  ComparedColumn states{{"state", "state", false, kPriorityState}, {}};
  for (const auto& group : groups) states.cells.push_back(states_cell(runs, group));
  columns.push_back(std::move(states));
  return columns;
}

}  // namespace exprun
