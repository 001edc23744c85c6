// Runs as `ls` lists them: how they stand.
#pragma once

#include <string>
#include <vector>

#include "control/report/runs_table.h"

namespace exprun {

// Every column that `ls` knows, and the keys of those that it shows by itself.
ResultTable ls_table(const std::vector<ReportedRun>& runs, int64_t now_ms);
std::vector<std::string> ls_columns(const std::vector<ReportedRun>& runs);

// A row for each column: its name, its header and what it is.
ResultTable ls_columns_explained();

}  // namespace exprun
