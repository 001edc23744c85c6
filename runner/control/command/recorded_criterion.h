// By what the store says that runs are compared, where a command names no metric.
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

}  // namespace exprun
