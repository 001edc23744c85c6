// What came of one run, in a few lines.
#pragma once

#include <string>

#include "control/report/runs_table.h"

namespace exprun {

// `folder` as the user would write it. Ends with a line feed.
std::string run_result(const ReportedRun& reported, const std::string& folder);

}  // namespace exprun
