// A table for a terminal: columns two spaces apart, no frame.
#include <algorithm>

#include "base/utf8.h"
#include "control/report/table.h"

namespace exprun {
namespace {

constexpr size_t kGap = 2;

// A cell is one line: line ends and other control characters would break the table.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\t')
      line += "\\t";
    else
      line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return line;
}

std::vector<size_t> widths(const ResultTable& table) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    size_t widest = display_width(table.columns[i].title);
    for (const auto& row : table.rows) widest = std::max(widest, display_width(row[i].text));
    widths.push_back(widest);
  }
  return widths;
}

std::vector<size_t> by_rank(const ResultTable& table) {
  std::vector<size_t> order;
  for (size_t i = 0; i < table.columns.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return table.columns[a].rank < table.columns[b].rank;
  });
  return order;
}

// Whether each column stays. A table has one at least.
std::vector<bool> fitting(const ResultTable& table, size_t width) {
  const std::vector<size_t> column_widths = widths(table);
  std::vector<bool> stays(table.columns.size());
  size_t used = 0;
  for (const size_t i : by_rank(table)) {
    const size_t with_it = used + (used ? kGap : 0) + column_widths[i];
    stays[i] = table.columns[i].rank == 0 || used == 0 || with_it <= width;
    if (stays[i]) used = with_it;
  }
  return stays;
}

void drop_column(ResultTable& table, size_t index) {
  const auto at = static_cast<std::ptrdiff_t>(index);
  table.columns.erase(table.columns.begin() + at);
  for (auto& row : table.rows) row.erase(row.begin() + at);
}

void drop_what_does_not_fit(ResultTable& table, size_t width, std::vector<std::string>* left_out) {
  const std::vector<bool> stays = fitting(table, width);
  for (size_t i = table.columns.size(); i-- > 0;) {
    if (stays[i]) continue;
    if (left_out) left_out->insert(left_out->begin(), table.columns[i].title);
    drop_column(table, i);
  }
}

std::string coloured(const std::string& text, Tone tone) {
  const char* const codes[] = {"", "\033[32m", "\033[31m", "\033[36m"};
  if (tone == Tone::plain) return text;
  return codes[static_cast<size_t>(tone)] + text + "\033[0m";
}

}  // namespace

std::string to_plain(ResultTable table, const PlainOptions& options,
                     std::vector<std::string>* left_out) {
  for (Column& column : table.columns) column.title = one_line(column.title);
  for (auto& row : table.rows)
    for (Cell& cell : row) cell.text = one_line(cell.text);
  if (options.width) drop_what_does_not_fit(table, options.width, left_out);
  const std::vector<size_t> column_widths = widths(table);

  std::string out;
  const auto put_line = [&](const auto& text_of, const auto& tone_of) {
    std::string line;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const std::string& text = text_of(i);
      const std::string pad(column_widths[i] - display_width(text), ' ');
      const std::string shown = options.colours ? coloured(text, tone_of(i)) : text;
      if (i) line.append(kGap, ' ');
      line += table.columns[i].right ? pad + shown : shown + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  put_line([&](size_t i) -> const std::string& { return table.columns[i].title; },
           [](size_t) { return Tone::plain; });
  for (const auto& row : table.rows)
    put_line([&](size_t i) -> const std::string& { return row[i].text; },
             [&](size_t i) { return row[i].tone; });
  return out;
}

}  // namespace exprun
