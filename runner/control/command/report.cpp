// exprun report
#include "control/command/stored_runs.h"
#include "control/command/table_format.h"

namespace exprun {

int run_report(const Words& words, const Globals& globals) {
  Words references;
  Where where;
  TableFormat format;
  Arguments arguments(
      "report [NAME...]",
      "Compares runs, best val loss first. Shows only the settings that differ between the runs.");
  arguments.words("NAME...", references, "only these runs: names, ids or folders", offer::runs);
  where.declare(arguments);
  format.declare(arguments);
  arguments.exit_codes(kFindsRuns)
      .example("exprun report", "every run of the store")
      .example("exprun report quickstart --csv > runs.csv",
               "the runs of one name, for a spreadsheet")
      .example("exprun report --where lr=3e-3 --where state=finished", "the results of a setting");
  if (!arguments.parse(words)) return 0;
  const Store store = open_store(globals.store);
  auto runs = reported_runs(store, globals.store, references);
  where.keep_matching(store, runs);
  format.print(report_table(std::move(runs)), where.conditions.empty() ? "no runs yet" : "no runs");
  return 0;
}

}  // namespace exprun
