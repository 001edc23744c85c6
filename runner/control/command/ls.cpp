// exprun ls
#include "base/clock.h"
#include "control/command/stored_runs.h"
#include "control/command/table_format.h"

namespace exprun {

int run_ls(const Words& words, const Globals& globals) {
  Words references;
  TableFormat format;
  Arguments arguments("ls [NAME...]", "Lists runs, the newest first, and how they stand.");
  arguments.words("NAME...", references, "only these: names of runs, ids, folders");
  format.declare(arguments);
  if (!arguments.parse(words)) return 0;
  const Store store = open_store(globals.store);
  const auto runs = reported_runs(store, globals.store, references);
  format.print(ls_table(runs, now_ms()), "no runs yet");
  return 0;
}

}  // namespace exprun
