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
};

struct Page {
  std::string title, store, command, written;
  std::vector<ComparedColumn> columns;      // cells in the order of `runs`
  std::vector<std::string> parameter_keys;  // which of the columns are parameters
  std::vector<PageRun> runs;
};

// At most `most` (at least 2) of the points: of each stretch of them the lowest and the highest, so
// that no extreme is lost, and one that is not finite.
std::vector<MetricRow> keep_extremes(const std::vector<MetricRow>& points, size_t most);

// How many points of each curve a page of so many curves keeps, to stay small.
size_t points_per_curve(size_t curves);

// The whole file. Text of the store is data, never markup.
std::string to_html(const Page& page);

}  // namespace exprun
