#include "control/report/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/format_units.h"
#include "base/terminal/terminal.h"
#include "control/report/plot/picture.h"
#include "control/report/table.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

constexpr size_t kTextColumn = 15;

std::string plan_line(const std::string& name, const std::string& text) {
  return "  " + name + std::string(kTextColumn - 2 - name.size(), ' ') + text + '\n';
}

std::string count(const ordered_json& value) {
  return with_thousands(value.get<int64_t>());
}

// "1,000", "1,000, 10 of them trainable".
std::string parameters(const ordered_json& plan) {
  const ordered_json &all = plan.at("parameters"), &trainable = plan.at("trainable_parameters");
  return trainable == all ? count(all)
                          : count(all) + ", " + count(trainable) + " of them trainable";
}

std::string parts(const ordered_json& plan) {
  std::string text;
  for (const ordered_json& part : plan.at("parameters_by_part"))
    text += plan_line("", part.at("name").get<std::string>() + ' ' + count(part.at("count")));
  return text;
}

std::string groups(const ordered_json& plan) {
  std::string text;
  for (const ordered_json& group : plan.at("groups"))
    text += plan_line(text.empty() ? "optimizer" : "",
                      group.at("name").get<std::string>() + ": " +
                          group.at("optimizer").get<std::string>() + ", " +
                          count(group.at("parameters")) + " parameters, " +
                          count(group.at("decayed")) + " of them decayed");
  return text;
}

std::string memory(const ordered_json& plan) {
  const auto ranks = plan.at("ranks").get<int64_t>();
  double total = 0;
  std::string text;
  for (const auto& [name, bytes] : plan.at("memory").items()) {
    const bool is_of_rank_0 = name == "checkpoint_copy" && ranks > 1;
    if (bytes == 0 && name == "checkpoint_copy") continue;  // a GPU's is not in its memory
    if (!is_of_rank_0) total += bytes.get<double>();
    std::string kind = name;
    std::ranges::replace(kind, '_', ' ');
    text += plan_line("", kind + ' ' + binary_bytes(bytes.get<double>()) +
                              (is_of_rank_0 ? " more, for rank 0" : ""));
  }
  const std::string whose = ranks > 1 ? " for each of " + count(plan.at("ranks")) + " ranks" : "";
  return plan_line("memory", "about " + binary_bytes(total) + whose) + text;
}

// "5 epochs", "1 epoch", "0.32 epochs"; nothing where the data have none.
std::string epochs(const ordered_json& plan) {
  if (!plan.contains("epochs") || plan.at("epochs").is_null()) return "";
  const double epochs = plan.at("epochs").get<double>();
  if (epochs >= 1000) return ", " + with_thousands(static_cast<int64_t>(epochs)) + " epochs";
  char text[32];
  std::snprintf(text, sizeof text, ", %.3g epoch", epochs);
  return std::string(text) + (std::string(text) == ", 1 epoch" ? "" : "s");
}

std::string time(const ordered_json& plan) {
  if (!plan.contains("time")) return "";
  const ordered_json& time = plan.at("time");
  const auto seconds = time.at("seconds").get<double>();
  const auto training = time.at("training_seconds").get<double>();
  const std::string of_training = seconds > training
                                      ? ", " + duration(training) + " of it training at "
                                      : " of training, evaluations not counted, at ";
  return plan_line("time", "about " + duration(seconds) + of_training +
                               with_thousands(time.at("tokens_per_second").get<int64_t>()) +
                               " tokens/s, the speed of " + time.at("run").get<std::string>());
}

// Lines that are too long go on below their text.
std::string fitted(std::string_view text, size_t width) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += wrapped(text.substr(0, end), kTextColumn, 0, width) + '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

std::string plan_line(const std::string& name, const std::string& text, size_t width) {
  const std::string line = plan_line(name, text);
  return width ? fitted(line, width) : line;
}

std::string plan_text(const ordered_json& plan, size_t width) {
  const double flops = plan.at("flops_per_token").get<double>();
  const double tokens = plan.at("tokens_per_step").get<double>();
  const std::string text =
      plan_line("parameters", parameters(plan)) + parts(plan) + groups(plan) +
      plan_line("batch", count(plan.at("tokens_per_step")) + " tokens a step, in " +
                             count(plan.at("gradient_accumulation")) + " x " +
                             count(plan.at("micro_batch")) + " sequences") +
      plan_line("length", count(plan.at("steps")) + " steps, " + count(plan.at("tokens")) +
                              " tokens" + epochs(plan)) +
      plan_line("compute", in_thousands(flops) + "FLOP a token, " + in_thousands(flops * tokens) +
                               "FLOP a step") +
      memory(plan) +
      plan_line("checkpoint", binary_bytes(plan.at("checkpoint_bytes").get<double>())) + time(plan);
  return width ? fitted(text, width) : text;
}

namespace {

using nlohmann::ordered_json;

constexpr size_t kRows = 11;

struct Point {
  int64_t update;
  double factor;
};

std::vector<Point> points_of(const ordered_json& schedule) {
  std::vector<Point> points;
  for (const ordered_json& point : schedule.at("points"))
    points.push_back({point.at(0).get<int64_t>(), point.at(1).get<double>()});
  return points;
}

ResultTable rates(const ordered_json& schedule, const std::vector<Point>& points) {
  ResultTable table{{{"update", "update", true}, {"factor", "factor", true}}, {}};
  for (const auto& [group, peak] : schedule.at("peaks").items())
    table.columns.push_back({"lr " + group, "lr " + group, true});
  const size_t rows = std::min(kRows, points.size());
  for (size_t i = 0; i < rows; ++i) {
    const Point& point = points[rows == 1 ? 0 : i * (points.size() - 1) / (rows - 1)];
    std::vector<Cell> row = {Cell::integer(point.update + 1), Cell::number(point.factor)};
    for (const auto& [group, peak] : schedule.at("peaks").items())
      row.push_back(Cell::number(peak.get<double>() * point.factor));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string plot_of(const ordered_json& schedule, const std::vector<Point>& points,
                    const TerminalPlotOptions& size) {
  PlotCurve curve{schedule.at("type").get<std::string>(), {}, 0, false};
  for (const Point& point : points)
    curve.samples.push_back({static_cast<double>(point.update + 1), point.factor});
  std::string text;
  for (const std::string& line :
       plot_lines(make_panel("factor", {std::move(curve)}, {0, false, false, "update", 1}), size))
    text += line + '\n';
  return text;
}

}  // namespace

std::string schedule_text(const ordered_json& schedule, const TerminalPlotOptions& size) {
  const std::vector<Point> points = points_of(schedule);
  return "schedule " + schedule.at("type").get<std::string>() + ", " +
         with_thousands(schedule.at("steps").get<int64_t>()) + " updates\n\n" +
         to_plain(rates(schedule, points), {}) + '\n' + plot_of(schedule, points, size);
}

ordered_json schedule_json(const ordered_json& schedule) {
  ordered_json factors = ordered_json::array();
  for (const Point& point : points_of(schedule))
    factors.push_back({{"update", point.update + 1}, {"factor", point.factor}});
  return {{"type", schedule.at("type")},
          {"steps", schedule.at("steps")},
          {"peaks", schedule.at("peaks")},
          {"factors", std::move(factors)}};
}

}  // namespace exprun
