// What `exprun watch` shows at a time: how far, key numbers, a table, curves, the end of the log;
// fitted to a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal/progress_line.h"
#include "control/report/plot/picture.h"
#include "control/report/table.h"

namespace exprun {

struct Dashboard {
  std::string title;                         // "tiny-1a2b3c4d: running"
  double fraction = 0;                       // of the work that is done
  std::vector<LinePart> progress;            // beside its bar: "step 250/1000", "ETA 3 min"
  std::vector<std::vector<LinePart>> facts;  // lines; parts that have no room are left out
  std::optional<ResultTable> table;
  std::vector<Panel> panels;     // side by side where the terminal is wide
  std::vector<std::string> log;  // its last lines, the newest last
};

struct DashboardSize {
  size_t columns = 80, lines = 24;
  bool colors = false;
  bool cuts = true;  // texts to so many columns: else only bars and curves are fitted
};

// At most so many lines, none wider if `cuts`. The curves have the room that the rest leaves; where
// there is little, the log goes first, then rows of the table.
std::vector<std::string> lines_of(const Dashboard& dashboard, const DashboardSize& size);

}  // namespace exprun
