#include "control/report/compare/side_by_side.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/terminal/terminal.h"
#include "base/utf8.h"

namespace exprun {
namespace {

constexpr size_t kWidestCell = 48, kNarrowestCell = 16;  // characters
constexpr size_t kBetween = 2;

size_t width_of_column(const ResultTable& table, size_t column) {
  size_t widest = display_width(table.columns[column].title);
  for (const auto& row : table.rows) widest = std::max(widest, display_width(row[column].text));
  return widest;
}

// Long texts, as of an environment variable, are cut so that the runs stay beside each other.
void cut(ResultTable& table, size_t width) {
  const size_t others = table.columns.size() - 1, names = width_of_column(table, 0);
  const size_t room = width > names ? (width - names) / others : 0;
  const size_t widest =
      width ? std::clamp(room > kBetween ? room - kBetween : 0, kNarrowestCell, kWidestCell)
            : kWidestCell;
  for (auto& row : table.rows)
    for (size_t i = 1; i < row.size(); ++i)
      if (shown_width(row[i].text) > widest) row[i].text = clipped(row[i].text, widest - 1) + "…";
}

// The names, and the columns from `begin` to `end`.
ResultTable part_of(const ResultTable& table, size_t begin, size_t end) {
  const auto taken = [&](const auto& all) {
    auto some = std::vector{all.front()};
    some.insert(some.end(), all.begin() + static_cast<std::ptrdiff_t>(begin),
                all.begin() + static_cast<std::ptrdiff_t>(end));
    return some;
  };
  ResultTable part{taken(table.columns), {}};
  for (const auto& row : table.rows) part.rows.push_back(taken(row));
  return part;
}

}  // namespace

ResultTable side_by_side(const std::string& what, const std::vector<ReportedRun>& runs,
                         std::vector<ComparedColumn> rows) {
  std::vector<size_t> order(runs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  ResultTable across = table_of(std::move(rows), order);
  ResultTable table{{{"name", what}}, {}};
  for (const ReportedRun& run : runs) table.columns.push_back({run.run.folder, run.run.folder});
  for (size_t row = 0; row < across.columns.size(); ++row) {
    auto& cells = table.rows.emplace_back(1, Cell::word(across.columns[row].title));
    for (auto& of_run : across.rows) cells.push_back(std::move(of_run[row]));
  }
  return table;
}

std::string side_by_side_text(ResultTable table, size_t width, bool colors) {
  cut(table, width);
  std::string text;
  for (size_t begin = 1; begin < table.columns.size();) {
    size_t end = begin, used = width_of_column(table, 0);
    while (end < table.columns.size()) {
      used += kBetween + width_of_column(table, end);
      if (width && used > width && end > begin) break;
      ++end;
    }
    text += (text.empty() ? "" : "\n") + to_plain(part_of(table, begin, end), {0, colors});
    begin = end;
  }
  return text;
}

}  // namespace exprun
