// Tables with runs as columns, for people: what differs between them stands beside each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "control/report/compare/report_columns.h"

namespace exprun {

// `rows` are compared as columns of `report` are; `what` is the title of their names.
ResultTable side_by_side(const std::string& what, const std::vector<ReportedRun>& runs,
                         std::vector<ComparedColumn> rows);

// As text of at most `width` columns (0: any width): long texts are cut, and runs that have no room
// beside the others stand in a further table below, with the names again. Only a width that
// does not hold a name and a value is exceeded.
std::string side_by_side_text(const ResultTable& table, size_t width, bool colors);

}  // namespace exprun
