// What a name says of each run: a column of ls, a parameter or a series.
#pragma once

#include <string>
#include <vector>

#include "control/report/runs_table.h"
#include "control/report/table.h"
#include "store/store.h"

namespace exprun {

struct RunValues {
  std::vector<Cell> cells;   // one a run
  bool are_numbers = false;  // in every run that has one; a parameter may be anything
};

// `name` is a column of ls, else a parameter by its path or its end ("lr"), else a series:
// "val/loss" is its last value, "val/loss.min" its lowest, "val/loss.max" its highest. "last(lr)"
// is a series whatever else has the name. Throws Error "command line: SAID: ..." where it is none
// of them, or several.
RunValues values_named(const Store& store, const std::vector<ReportedRun>& runs,
                       const std::string& name, const std::string& said);

}  // namespace exprun
