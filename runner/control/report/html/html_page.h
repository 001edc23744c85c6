// `report --html`: one file that a browser shows without a network. Its own sources are in html/.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "control/report/compare/comparison.h"
#include "store/rows.h"

namespace exprun {

struct PageCurve {
  std::string name;
  std::vector<MetricRow> points;  // in the order of their steps
};

struct PageRun {
  std::string name;
  std::vector<PageCurve> curves;
  std::vector<std::pair<std::string, std::string>> samples;  // what and when, and the text
  std::vector<std::string> tags = {};
};

struct Page {
  std::string title, store, command, written;
  std::vector<ComparedColumn> columns;      // cells in the order of `runs`
  std::vector<std::string> parameter_keys;  // which of the columns are parameters
  std::vector<PageRun> runs;
  std::string of_curves, of_samples;  // what the page says of those that it lacks
};

// At most `most` (at least 5) of the points: the first, the last and, of each stretch between them,
// the lowest and the highest finite one and the first that is not finite.
std::vector<MetricRow> keep_extremes(const std::vector<MetricRow>& points, size_t most);

// The whole file. Text of the store is data, never markup.
std::string to_html(const Page& page);

}  // namespace exprun
