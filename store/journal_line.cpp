#include "store/journal_line.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/json_text.h"
#include "base/number.h"
#include "store/checked_line.h"

namespace exprun {
namespace {

using nlohmann::json;

// JSON has no word for what is not finite.
json to_json(double value) {
  if (std::isfinite(value)) return value;
  return shortest(value);
}

double from_json(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto& word = value.get_ref<const std::string&>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  return std::numeric_limits<double>::quiet_NaN();
}

JournalLine from_object(const json& object) {
  JournalLine line{object.at("run"), object.at("attempt"), {}, {}};
  for (const json& name : object.at("series")) line.names.push_back({name.at(0), name.at(1)});
  for (const json& point : object.at("points")) {
    line.points.push_back({point.at(1), point.at(2), from_json(point.at(3)), point.at(0)});
    if (line.points.back().series >= line.names.size()) throw std::out_of_range("series");
  }
  return line;
}

std::optional<JournalLine> parse_line(std::string_view text) {
  const auto object = json_of_line(text);
  if (!object) return std::nullopt;
  try {
    return from_object(parse_json<json>(*object));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string journal_line(const std::string& run_uid, int64_t attempt,
                         std::span<const SeriesName> names, std::span<const MetricPoint> points) {
  json series = json::array();
  for (const SeriesName& name : names) series.push_back({name.name, name.timing});
  json rows = json::array();
  for (const MetricPoint& point : points) {
    rows.push_back({point.series, point.step, point.time_ms, to_json(point.value)});
  }
  return checked_line(json_text(
      json{{"run", run_uid}, {"attempt", attempt}, {"series", series}, {"points", rows}}));
}

JournalText parse_journal(const std::string& text) {
  JournalText journal;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (auto line = parse_line(std::string_view(text).substr(begin, end - begin))) {
      journal.lines.push_back(std::move(*line));
    } else {
      ++journal.damaged_lines;
    }
  }
  return journal;
}

}  // namespace exprun
