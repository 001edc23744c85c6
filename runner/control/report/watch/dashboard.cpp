#include "control/report/watch/dashboard.h"

#include <algorithm>

#include "base/strings.h"
#include "base/terminal/terminal.h"
#include "base/utf8.h"
#include "control/report/plot/terminal_plot.h"

namespace exprun {
namespace {

constexpr size_t kMostLogLines = 8, kLeastLogLines = 3;
constexpr size_t kMostPlotLines = 24, kLeastPlotLines = 5;  // of curves
constexpr size_t kSideBySide = 60;                          // columns of each panel, at least

// The parts that fit, in their order; those with the highest `dropped` leave first.
std::string facts_line(std::vector<LinePart> parts, size_t columns) {
  for (;;) {
    std::string line;
    for (const LinePart& part : parts) line += (line.empty() ? "" : "  ") + part.text;
    if (shown_width(line) <= columns || parts.empty()) return line;
    const auto next =
        std::max_element(parts.begin(), parts.end(),
                         [](const auto& a, const auto& b) { return a.dropped < b.dropped; });
    if (next->dropped == 0) return clipped(line, columns);
    parts.erase(next);
  }
}

std::vector<std::string> table_lines(const ResultTable& table, const DashboardSize& size) {
  return lines_of(to_plain(table, {size.cuts ? size.columns : 0, size.colors}));
}

// Lines around the curves of a panel: title, axis with its numbers, legend.
size_t lines_around(const Panel& panel) {
  return 3 + panel.curves.size();
}

size_t columns_of_panels(const std::vector<Panel>& panels, size_t columns) {
  return panels.size() > 1 ? std::clamp<size_t>(columns / kSideBySide, 1, panels.size()) : 1;
}

std::string padded(const std::string& line, size_t columns) {
  return line + std::string(columns - std::min(columns, shown_width(line)), ' ');
}

// The panels in rows, of as many beside each other as the terminal is wide for; as many rows as
// there is room for.
std::vector<std::string> plots(const std::vector<Panel>& panels, const DashboardSize& size,
                               size_t room) {
  if (panels.empty()) return {};
  const size_t across = columns_of_panels(panels, size.columns);
  const size_t width = size.columns / across - (across > 1 ? 2 : 0);
  size_t around = 0;
  for (const Panel& panel : panels) around = std::max(around, lines_around(panel));
  size_t rows = (panels.size() + across - 1) / across;
  while (rows > 1 && room / rows < around + kLeastPlotLines) --rows;
  if (room / rows < around + kLeastPlotHeight) return {};
  const size_t height = std::min(room / rows - around, kMostPlotLines);
  std::vector<std::string> lines;
  for (size_t row = 0; row < rows; ++row) {
    std::vector<std::string> joined;
    for (size_t i = row * across; i < std::min(panels.size(), (row + 1) * across); ++i) {
      const auto one = plot_lines(panels[i], {width, height, size.colors});
      joined.resize(std::max(joined.size(), one.size()));
      for (std::string& line : joined) line = padded(line, (i - row * across) * (width + 2));
      for (size_t line = 0; line < one.size(); ++line) joined[line] += one[line];
    }
    lines.insert(lines.end(), joined.begin(), joined.end());
  }
  return lines;
}

void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  if (more.empty()) return;
  lines.emplace_back();
  lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> lines_of(const Dashboard& dashboard, const DashboardSize& size) {
  const size_t columns = size.cuts ? size.columns : std::string::npos;  // of texts
  std::vector<std::string> lines = {
      inked(clipped(without_controls(dashboard.title), columns), Ink::bold, size.colors),
      progress_line(dashboard.fraction, dashboard.progress, size.columns, size.colors)};
  for (const auto& facts : dashboard.facts)
    if (!facts.empty()) lines.push_back(facts_line(facts, columns));
  const auto left = [&] { return size.lines - std::min(size.lines, lines.size()); };

  size_t least = 0;  // lines that the curves need
  for (const Panel& panel : dashboard.panels)
    least = std::max(least, 1 + lines_around(panel) + kLeastPlotLines);
  std::vector<std::string> table;
  if (dashboard.table) table = table_lines(*dashboard.table, size);
  const size_t beside_curves = left() - std::min(left(), least);
  table.resize(std::min(table.size(), beside_curves > 3 ? beside_curves - 1 : size_t{0}));
  append(lines, table);

  const size_t spare = left() - std::min(left(), least + 1);
  size_t log_lines =
      std::min(dashboard.log.size(), std::clamp(spare / 2, size_t{0}, kMostLogLines));
  if (log_lines < std::min(kLeastLogLines, dashboard.log.size())) log_lines = 0;
  const size_t for_log = log_lines ? log_lines + 1 : 0;
  append(lines, plots(dashboard.panels, size, left() - std::min(left(), for_log + 1)));
  std::vector<std::string> log(dashboard.log.end() - static_cast<std::ptrdiff_t>(log_lines),
                               dashboard.log.end());
  for (std::string& line : log) line = clipped(without_controls(line), columns);
  append(lines, log);
  if (lines.size() > size.lines) lines.resize(size.lines);
  return lines;
}

}  // namespace exprun
