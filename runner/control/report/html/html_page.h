// `report --html`: one file that a browser shows without a network.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "control/report/compare/report_columns.h"
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
  std::string of_data = {};                     // a warning beside the table
  std::string of_curves = {}, of_samples = {};  // what the page says of those that it lacks
};

// At most `most` (at least 5) of the points: the first, the last and, of each stretch between them,
// the lowest and the highest finite one and the first that is not finite.
std::vector<MetricRow> keep_extremes(const std::vector<MetricRow>& points, size_t most);

// How much of many curves a page holds, so that it stays small.

// A curve before it is read.
struct CurveSize {
  size_t values = 0;
  size_t name = 0;  // bytes
  size_t last_step = 0;
};

struct CurveRoom {
  size_t points = 0;  // the most that a curve keeps
  size_t curves = 0;  // the first of them that have room; the others are left out
};

// The most points with which all curves have room in so many bytes of a page; where the fewest that
// show a curve are too many, as many curves as have room with these.
CurveRoom room_for(const std::vector<CurveSize>& curves, size_t bytes);

// The whole file. Text of the store is data, never markup.
std::string to_html(const Page& page);

}  // namespace exprun
