// The metric that runs are compared by when the command names none, from what the store has
// recorded.
#pragma once

#include <string>
#include <vector>

#include "control/report/compare/criterion.h"
#include "control/report/runs_table.h"
#include "control/sweep/trials.h"
#include "store/store.h"

namespace exprun {

// By what the trials of a sweep are compared.
Criterion criterion_of(const SweepPlan& plan);

// The metric and the goal of this sweep; without one those on which the recipes of the runs agree;
// else the lowest val/loss.
Criterion recorded_criterion(const Store& store, const std::vector<ReportedRun>& runs,
                             const std::string& sweep = "");
Criterion recorded_criterion(const Store& store, const RunRow& run);  // of its recipe

}  // namespace exprun
