#include "control/report/compare/run_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
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

struct GroupSpread {
  Spread spread;
  size_t finished = 0;  // of the runs with a value
};

// Of the finished runs, as a sweep ranks them: what a run had when it diverged or stopped would
// drown them. Of all where none has finished.
GroupSpread spread_of(const std::vector<ReportedRun>& runs, const std::vector<size_t>& group,
                      const ComparedColumn& metric) {
  std::vector<double> of_all, of_finished;
  bool any_finished = false;
  for (const size_t run : group) {
    const bool finished = runs[run].run.state == RunState::finished;
    any_finished |= finished;
    const auto value = metric.cells[run].as_number();
    if (value) of_all.push_back(*value);
    if (value && finished) of_finished.push_back(*value);
  }
  const size_t finished = of_finished.size();
  return {exprun::spread_of(std::move(any_finished ? of_finished : of_all)), finished};
}

void add_spreads(std::vector<ComparedColumn>& columns, const ComparedColumn& metric,
                 const std::vector<GroupSpread>& spreads, bool for_programs, GroupsAre groups_are) {
  ComparedColumn mean{metric.column, {}, metric.goal, true, metric.series};
  ComparedColumn deviation{{metric.column.key + "_std", "", true}, {}};
  ComparedColumn count{{metric.column.key + "_n", "", true}, {}};
  for (const auto& [spread, finished] : spreads) {
    const bool some = spread.count > 0, several = spread.count > 1;
    mean.cells.push_back(some ? Cell::number(spread.mean, to_string(spread)) : Cell::none());
    deviation.cells.push_back(several ? Cell::number(spread.deviation) : Cell::none());
    count.cells.push_back(Cell::integer(static_cast<int64_t>(spread.count)));
    if (groups_are == GroupsAre::points)
      mean.ranks.push_back({spread.mean, spread.deviation, finished});
  }
  columns.push_back(std::move(mean));
  if (!for_programs) return;
  columns.push_back(std::move(deviation));
  columns.push_back(std::move(count));
}

// An evaluation may have measured any of the runs that repeat each other.
void take_what_is_missing(std::vector<ComparedColumn>& metrics, size_t kept, size_t repeat) {
  for (ComparedColumn& metric : metrics)
    if (!metric.cells[kept].as_number()) metric.cells[kept] = metric.cells[repeat];
}

}  // namespace

std::vector<std::vector<size_t>> groups_of(const std::vector<ComparedColumn>& by, size_t runs) {
  std::vector<std::vector<size_t>> groups;
  std::map<std::vector<std::string>, size_t> known;
  for (size_t run = 0; run < runs; ++run) {
    std::vector<std::string> values;
    for (const ComparedColumn& column : by) {
      const Cell& cell = column.cells[run];
      values.push_back(cell.is_none() ? "" : "=" + cell.text);
    }
    const auto [group, added] = known.emplace(std::move(values), groups.size());
    if (added) groups.emplace_back();
    groups[group->second].push_back(run);
  }
  return groups;
}

size_t keep_one_of_repeats(const std::vector<ReportedRun>& runs,
                           std::vector<std::vector<size_t>>& groups,
                           std::vector<ComparedColumn>& metrics) {
  const auto experiment = [&](size_t place) {
    const RunRow& run = runs[place].run;
    return std::tuple(run.recipe_hash, run.origin, run.data_fingerprint);
  };
  const auto rank = [&](size_t place) {
    const RunRow& run = runs[place].run;
    return std::tuple(run.state == RunState::finished, run.started_ms, run.id);
  };
  size_t left_out = 0;
  for (std::vector<size_t>& group : groups) {
    std::vector<size_t> best_first = group;
    std::ranges::sort(best_first, std::greater(), rank);
    std::map<std::tuple<std::string, std::string, std::string>, size_t> kept;
    for (const size_t place : best_first) {
      const auto [best, added] = kept.try_emplace(experiment(place), place);
      if (!added && std::get<0>(rank(place)) == std::get<0>(rank(best->second)))
        take_what_is_missing(metrics, best->second, place);
    }
    left_out +=
        std::erase_if(group, [&](size_t place) { return kept.at(experiment(place)) != place; });
  }
  return left_out;
}

std::vector<ComparedColumn> columns_of_groups(const std::vector<ReportedRun>& runs,
                                              const std::vector<std::vector<size_t>>& groups,
                                              const std::vector<ComparedColumn>& by,
                                              const std::vector<ComparedColumn>& metrics,
                                              bool for_programs, GroupsAre groups_are) {
  std::vector<ComparedColumn> columns;
  for (const ComparedColumn& parameter : by) {
    ComparedColumn& column = columns.emplace_back(ComparedColumn{parameter.column, {}});
    if (is_parameter(column.column)) column.column.priority = 0;
    column.if_different = parameter.if_different;
    for (const auto& group : groups) column.cells.push_back(parameter.cells[group.front()]);
  }
  ComparedColumn sizes{{"runs", "runs", true, kPriorityStep}, {}};
  for (const auto& group : groups)
    sizes.cells.push_back(Cell::integer(static_cast<int64_t>(group.size())));
  columns.push_back(std::move(sizes));
  for (const ComparedColumn& metric : metrics) {
    if (!metric.averaged) continue;
    std::vector<GroupSpread> spreads;
    for (const auto& group : groups) spreads.push_back(spread_of(runs, group, metric));
    add_spreads(columns, metric, spreads, for_programs, groups_are);
  }
  const auto is_by_state = [](const ComparedColumn& each) { return each.column.key == "state"; };
  if (std::any_of(by.begin(), by.end(), is_by_state)) return columns;
  ComparedColumn states{{"state", "state", false, kPriorityState}, {}};
  for (const auto& group : groups) states.cells.push_back(states_cell(runs, group));
  columns.push_back(std::move(states));
  return columns;
}

}  // namespace exprun
