// The lives of a run's processes.
#pragma once

#include <vector>

#include "control/report/table.h"
#include "store/rows.h"

namespace exprun {

// A row each.
ResultTable attempts_table(const std::vector<AttemptRow>& attempts);

}  // namespace exprun
