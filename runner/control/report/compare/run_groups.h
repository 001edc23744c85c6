// Groups of runs, as `report` shows them: with mean and standard deviation.
#pragma once

#include <cstddef>
#include <vector>

#include "control/report/compare/report_columns.h"

namespace exprun {

// Runs with the same values of all these parameters, by their places in the list of runs; groups
// and runs in the order of the runs.
std::vector<std::vector<size_t>> groups_of(const std::vector<ComparedColumn>& by, size_t runs);

// Of the runs of a group that repeat each other, with the same recipe, its seed included, the same
// origin and the same data, the newest that finished, or the newest where none did; what it lacks
// of the metrics it takes from the newest of the others that has it and ended like it. Returns how
// many are left out.
size_t keep_one_of_repeats(const std::vector<ReportedRun>& runs,
                           std::vector<std::vector<size_t>>& groups,
                           std::vector<ComparedColumn>& metrics);

// Groups may be the points of a sweep, each with its seeds: those are ranked().
enum class GroupsAre { any, points };

// What each group has in common, how many runs it has, its metrics and how its runs stand. A metric
// is averaged over the finished runs that have a value of it, over all where none has finished. For
// programs a metric is three columns: KEY (the mean), KEY_std and KEY_n.
std::vector<ComparedColumn> columns_of_groups(const std::vector<ReportedRun>& runs,
                                              const std::vector<std::vector<size_t>>& groups,
                                              const std::vector<ComparedColumn>& by,
                                              const std::vector<ComparedColumn>& metrics,
                                              bool for_programs,
                                              GroupsAre groups_are = GroupsAre::any);

}  // namespace exprun
