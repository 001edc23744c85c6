#include "control/report/html/html_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "base/json_text.h"

namespace exprun {

const std::vector<std::pair<std::string_view, std::string_view>>& embedded_page();
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_charts();

namespace {

using nlohmann::json;

std::string_view source_of(std::string_view name) {
  for (const auto* files : {&embedded_page(), &embedded_charts()})
    for (const auto& [file, text] : *files)
      if (file == name) return text;
  throw std::logic_error("no page source " + std::string(name));
}

const char* name_of(Goal goal) {
  return goal == Goal::lowest ? "lowest" : goal == Goal::highest ? "highest" : "none";
}

const char* class_of(Tone tone) {
  switch (tone) {
    case Tone::good:
    case Tone::active:
      return "good";
    case Tone::bad:
      return "bad";
    case Tone::best:
      return "best";
    case Tone::plain:
      break;
  }
  return "";
}

json cell_json(const Cell& cell) {
  const auto number = cell.as_number();
  json value = number && std::isfinite(*number) ? json(*number) : json();
  json made = json::array({std::move(value), cell.text});
  if (cell.tone != Tone::plain) made.push_back(class_of(cell.tone));
  return made;
}

json columns_json(const Page& page) {
  json columns = json::array();
  for (const ComparedColumn& column : page.columns) {
    const bool parameter = std::find(page.parameter_keys.begin(), page.parameter_keys.end(),
                                     column.column.key) != page.parameter_keys.end();
    columns.push_back({{"key", column.column.key},
                       {"title", column.column.title},
                       {"right", column.column.right},
                       {"goal", name_of(column.goal)},
                       {"series", column.series},
                       {"role", parameter            ? "parameter"
                                : column.is_metric() ? "metric"
                                                     : "other"}});
  }
  return columns;
}

// Six digits are more than a chart shows. JSON has no NaN and no infinity: null is a gap.
void append_number(std::string& text, double value) {
  char buffer[32];
  if (!std::isfinite(value))
    text += "null";
  else
    text.append(buffer, static_cast<size_t>(std::snprintf(buffer, sizeof buffer, "%.6g", value)));
}

// "name":[[steps],[values]]; by hand, because there may be a hundred thousand points.
void append_curve(std::string& text, const PageCurve& curve) {
  text += json_text(json(curve.name), -1, NotUtf8::replaced) + ":[[";
  for (size_t i = 0; i < curve.points.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(curve.points[i].step);
  }
  text += "],[";
  for (size_t i = 0; i < curve.points.size(); ++i) {
    if (i > 0) text += ',';
    append_number(text, curve.points[i].value);
  }
  text += "]]";
}

void append_run(std::string& text, const PageRun& run) {
  text += "{\"name\":" + json_text(json(run.name), -1, NotUtf8::replaced) + ",\"curves\":{";
  for (size_t i = 0; i < run.curves.size(); ++i) {
    if (i > 0) text += ',';
    append_curve(text, run.curves[i]);
  }
  json samples = json::array();
  for (const auto& [name, sample] : run.samples) samples.push_back({name, sample});
  text += "},\"samples\":" + json_text(samples, -1, NotUtf8::replaced) +
          ",\"tags\":" + json_text(json(run.tags), -1, NotUtf8::replaced) + '}';
}

// A column of the series knows what is recorded of its goal.
Goal goal_of_series(const Page& page, const std::string& name) {
  for (const ComparedColumn& column : page.columns)
    if (column.series == name && column.goal != Goal::none) return column.goal;
  return goal_of(name);
}

json goals_json(const Page& page) {
  json goals = json::object();
  for (const PageRun& run : page.runs)
    for (const PageCurve& curve : run.curves)
      if (!goals.contains(curve.name))
        goals[curve.name] = name_of(goal_of_series(page, curve.name));
  return goals;
}

std::string data_of(const Page& page) {
  json rows = json::array();
  for (size_t run = 0; run < page.runs.size(); ++run) {
    json row = json::array();
    for (const ComparedColumn& column : page.columns) row.push_back(cell_json(column.cells[run]));
    rows.push_back(std::move(row));
  }
  std::string text = json_text(json{{"title", page.title},
                                    {"store", page.store},
                                    {"command", page.command},
                                    {"written", page.written},
                                    {"of_data", page.of_data},
                                    {"of_curves", page.of_curves},
                                    {"of_samples", page.of_samples},
                                    {"columns", columns_json(page)},
                                    {"goals", goals_json(page)},
                                    {"rows", std::move(rows)}},
                               -1, NotUtf8::replaced);
  text.back() = ',';  // in place of its closing brace
  text += "\"runs\":[";
  for (size_t run = 0; run < page.runs.size(); ++run) {
    if (run > 0) text += ',';
    append_run(text, page.runs[run]);
  }
  return text + "]}";
}

// Within a script element "</script" and "<!--" would end the data or change how they are read.
std::string without_tags(const std::string& json_text) {
  std::string safe;
  safe.reserve(json_text.size());
  for (const char c : json_text)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

using Points = std::vector<MetricRow>::const_iterator;

bool is_gap(const MetricRow& point) {
  return !std::isfinite(point.value);
}

// The lowest and the highest of the finite points, and the first that is not finite, in order.
void keep_marks(Points begin, Points end, std::vector<MetricRow>& kept) {
  Points low = end, high = end;
  for (Points point = begin; point != end; ++point) {
    if (is_gap(*point)) continue;
    if (low == end || point->value < low->value) low = point;
    if (high == end || point->value > high->value) high = point;
  }
  std::array marks{low, high, std::find_if(begin, end, is_gap)};
  std::sort(marks.begin(), marks.end());
  const auto last = std::unique(marks.begin(), marks.end());
  for (auto mark = marks.begin(); mark != last; ++mark)
    if (*mark != end) kept.push_back(**mark);
}

}  // namespace

std::vector<MetricRow> keep_extremes(const std::vector<MetricRow>& points, size_t most) {
  if (points.size() <= most) return points;
  const bool has_gap = std::any_of(points.begin() + 1, points.end() - 1, is_gap);
  const size_t inner = points.size() - 2, marks = has_gap ? 3 : 2;
  const size_t stretches = std::max<size_t>((most - 2) / marks, 1);
  std::vector<MetricRow> kept = {points.front()};
  for (size_t stretch = 0; stretch < stretches; ++stretch) {
    const auto begin = points.begin() + 1 + static_cast<long>(inner * stretch / stretches);
    const auto end = points.begin() + 1 + static_cast<long>(inner * (stretch + 1) / stretches);
    keep_marks(begin, end, kept);
  }
  kept.push_back(points.back());
  return kept;
}

std::string to_html(const Page& page) {
  const std::string_view frame = source_of("page.html");
  std::string html;
  for (size_t at = 0; at < frame.size();) {
    const size_t open = frame.find('@', at);
    const size_t close = open == frame.npos ? open : frame.find('@', open + 1);
    if (close == frame.npos) {
      html += frame.substr(at);
      break;
    }
    const std::string_view name = frame.substr(open + 1, close - open - 1);
    html += frame.substr(at, open - at);
    if (name == "data")
      html += without_tags(data_of(page));
    else
      html += source_of(name);
    at = close + 1;
  }
  return html;
}

namespace {

constexpr size_t kMostPoints = 1'000;  // more than a chart has pixels
constexpr size_t kFewestPoints = 16;
constexpr size_t kBytesOfValue = 10;                         // "0.0012345,"
constexpr size_t kBytesAround = sizeof "\"\":[[],[]]," - 1;  // of a curve

size_t bytes_of(const CurveSize& curve, size_t points) {
  const size_t step = std::to_string(curve.last_step).size() + 1;
  return kBytesAround + curve.name + std::min(curve.values, points) * (step + kBytesOfValue);
}

// How many of the curves fit.
size_t fitting(const std::vector<CurveSize>& curves, size_t points, size_t bytes) {
  size_t used = 0, fit = 0;
  for (const CurveSize& curve : curves) {
    used += bytes_of(curve, points);
    if (used > bytes) break;
    ++fit;
  }
  return fit;
}

}  // namespace

CurveRoom room_for(const std::vector<CurveSize>& curves, size_t bytes) {
  size_t low = kFewestPoints, high = kMostPoints;
  while (low < high) {  // the most points with which all fit
    const size_t middle = (low + high + 1) / 2;
    if (fitting(curves, middle, bytes) == curves.size())
      low = middle;
    else
      high = middle - 1;
  }
  return {low, fitting(curves, low, bytes)};
}

}  // namespace exprun
