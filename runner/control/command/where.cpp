#include "control/command/where.h"

#include "control/command/known_state.h"
#include "control/command/run_values.h"
#include "control/report/condition.h"

namespace exprun {
namespace {

// Of a column or series, whose values are numbers in every run. A parameter may be either.
void require_number(const Condition& condition) {
  if (condition.value.as_number()) return;
  refuse_condition(condition.text,
                   condition.key + " is a number, and '" + condition.word + "' is none");
}

std::vector<Cell> values_of(const Store& store, const std::vector<ReportedRun>& runs,
                            const Condition& condition) {
  const std::string& key = condition.key;
  if (key == "tags") refuse_condition(condition.text, "--tag WORD is how a tag is asked for");
  if (key == "state" && condition.word != "unknown")  // ls says so of a run of another host
    require_state("command line: --where '" + condition.text + "'", condition.word);
  RunValues values = values_named(store, runs, key, "--where '" + condition.text + "'");
  if (values.are_numbers) require_number(condition);
  return std::move(values.cells);
}

}  // namespace

void Where::declare(Arguments& arguments) {
  arguments.option("--where", "CONDITION", conditions,
                   "only runs of which it holds: a parameter (lr>1e-4, optimizer.type=muon), the "
                   "last value of a series (val/loss<3.2; val/loss.min and .max: its lowest, its "
                   "highest; last(lr) where a parameter has the name too) or a column of ls "
                   "(step>=500), compared by = != < <= > >=; given several times, all must hold");
}

void Where::keep_matching(const Store& store, std::vector<ReportedRun>& runs) const {
  std::vector<Condition> parsed;
  for (const std::string& text : conditions) parsed.push_back(parse_condition(text));
  std::vector<bool> kept(runs.size(), true);
  for (const Condition& condition : parsed) {
    const auto cells = values_of(store, runs, condition);
    for (size_t i = 0; i < runs.size(); ++i) kept[i] = kept[i] && holds(condition, cells[i]);
  }
  size_t i = 0;
  std::erase_if(runs, [&](const ReportedRun&) { return !kept[i++]; });
}

}  // namespace exprun
