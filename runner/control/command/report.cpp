// exprun report
#include "control/command/stored_runs.h"
#include "control/command/table_format.h"

namespace exprun {

int run_report(const Words& words, const Globals& globals) {
  Words references;
  TableFormat format;
  Arguments arguments("report [NAME...]",
                      "Compares runs, the best val loss first. Of their settings only those are "
                      "shown that are not the same in all.");
  arguments.words("NAME...", references, "only these: names of runs, ids, folders");
  format.declare(arguments);
  arguments.example("exprun report", "every run of the store")
      .example("exprun report quickstart --csv > runs.csv",
               "the runs of one name, for a spreadsheet");
  if (!arguments.parse(words)) return 0;
  const Store store = open_store(globals.store);
  format.print(report_table(reported_runs(store, globals.store, references)), "no runs yet");
  return 0;
}

}  // namespace exprun
