#include "control/report/table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/suggest.h"
#include "base/terminal/terminal.h"
#include "base/utf8.h"

namespace exprun {
namespace {

// A table as comma-separated values (RFC 4180, with plain line feeds).

std::string field(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell.value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&cell.value)) return shortest(*number);
  if (const auto* word = std::get_if<std::string>(&cell.value)) return csv_quoted(*word);
  return "";
}

}  // namespace

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string to_csv(const ResultTable& table) {
  std::string out;
  for (const Column& column : table.columns) {
    if (&column != &table.columns.front()) out += ',';
    out += csv_quoted(column.key);
  }
  out += '\n';
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) out += (i ? "," : "") + field(row[i]);
    out += '\n';
  }
  return out;
}

namespace {

// A table as JSON: an array of objects by column key, one object a line.

using nlohmann::ordered_json;

// JSON has no NaN and no infinity: they are the strings "nan", "inf", "-inf".
ordered_json to_value(const Cell& cell) {
  if (cell.is_boolean) return cell.text == "true";
  if (const auto* integer = std::get_if<int64_t>(&cell.value)) return *integer;
  if (const auto* word = std::get_if<std::string>(&cell.value)) return *word;
  if (const auto* number = std::get_if<double>(&cell.value)) {
    if (!std::isfinite(*number)) return shortest(*number);
    return *number;
  }
  return nullptr;
}

}  // namespace

std::string to_json(const ResultTable& table) {
  std::string out = "[";
  for (const auto& row : table.rows) {
    ordered_json object = ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i) object[table.columns[i].key] = to_value(row[i]);
    out += out.size() > 1 ? ",\n " : "\n ";
    out += json_text(object, -1, NotUtf8::replaced);
  }
  return out + (table.rows.empty() ? "]\n" : "\n]\n");
}

namespace {

// A table for a document: GitHub's form, numbers to the right.

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|')
      out += "\\|";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string to_markdown(const ResultTable& table) {
  std::string titles = "|", rule = "|";
  for (const Column& column : table.columns) {
    titles += ' ' + escaped(column.title) + " |";
    rule += column.right ? " ---: |" : " --- |";
  }
  std::string out = titles + '\n' + rule + '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const Cell& cell : row) {
      const char* const bold = cell.tone == Tone::best ? "**" : "";
      out += ' ' + (bold + escaped(cell.text)) + bold + " |";
    }
    out += '\n';
  }
  return out;
}

namespace {

// A table for a paper.

constexpr std::string_view kPlusMinus = "±";

std::string latex_escaped(const std::string& text) {
  std::string out;
  for (const CodePoint& c : code_points(text)) {
    if (c.value == U'\u00b1')
      out += "$\\pm$";
    else if (c.value == U'\\')
      out += "\\textbackslash{}";
    else if (c.value == U'~')
      out += "\\textasciitilde{}";
    else if (c.value == U'^')
      out += "\\textasciicircum{}";
    else if (c.value < 0x80 &&
             std::string_view("&%$#_{}").find(static_cast<char>(c.value)) != std::string_view::npos)
      (out += '\\') += static_cast<char>(c.value);
    else
      out += is_control(c.value) || !c.valid ? " " : std::string(c.bytes);
  }
  return out;
}

// "3.000e-5" and "(1.24 ± 0.31)e8 (3)" with their powers of ten; any other text as it is.
std::string latex_number(const std::string& text) {
  if (const size_t sign = text.find(kPlusMinus); sign != text.npos && text.find('e') < sign)
    return latex_number(text.substr(0, sign - 1)) + " $\\pm$ " +
           latex_number(text.substr(sign + kPlusMinus.size() + 1));
  const size_t e = text.find('e'), end = std::min(text.find(' ', e), text.size());
  if (e == text.npos) return latex_escaped(text);
  const auto exponent = parse_number<int64_t>(std::string_view(text).substr(e + 1, end - e - 1));
  if (!exponent) return latex_escaped(text);
  std::string mantissa = text.substr(0, e);
  if (const size_t sign = mantissa.find(kPlusMinus); sign != mantissa.npos)
    mantissa.replace(sign, kPlusMinus.size(), "\\pm");
  return "$" + mantissa + " \\times 10^{" + std::to_string(*exponent) + "}$" +
         latex_escaped(text.substr(end));
}

std::string latex_cell(const Cell& cell) {
  const std::string text = cell.as_number() ? latex_number(cell.text) : latex_escaped(cell.text);
  return cell.tone == Tone::best ? "\\textbf{" + text + "}" : text;
}

}  // namespace

std::string to_latex(const ResultTable& table) {
  std::string form, titles;
  for (const Column& column : table.columns) {
    form += column.right ? 'r' : 'l';
    titles += (titles.empty() ? "" : " & ") + latex_escaped(column.title);
  }
  std::string out = "% \\usepackage{booktabs}\n\\begin{tabular}{" + form + "}\n\\toprule\n" +
                    titles + " \\\\\n\\midrule\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) out += (i ? " & " : "") + latex_cell(row[i]);
    out += " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

namespace {

// A table for a terminal: columns two spaces apart, no frame.

constexpr size_t kGap = 2;
constexpr size_t kNarrowestCut = 16;  // columns of a text that is cut

// A cell is one line: line ends and other control characters would break the table.
std::string one_line(std::string text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::none_of(text.begin(), text.end(), is_control)) return text;
  std::string line;
  for (const char c : text) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\t')
      line += "\\t";
    else
      line += is_control(c) ? '?' : c;
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

std::vector<size_t> by_priority(const ResultTable& table) {
  std::vector<size_t> order;
  for (size_t i = 0; i < table.columns.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return table.columns[a].priority < table.columns[b].priority;
  });
  return order;
}

void cut_column(ResultTable& table, size_t index, size_t width) {
  for (auto& row : table.rows) row[index].text = shortened(row[index].text, width);
}

// Whether each column stays. A table has one at least. A text that may be cut takes little room at
// first, so that a long one does not keep all others from staying, and then what they leave.
std::vector<bool> fitting(ResultTable& table, size_t width) {
  const std::vector<size_t> column_widths = widths(table), order = by_priority(table);
  const auto least = [&](size_t i) {
    return table.columns[i].is_cut ? std::min(column_widths[i], kNarrowestCut) : column_widths[i];
  };
  std::vector<bool> stays(table.columns.size());
  size_t used = 0;
  for (const size_t i : order) {
    const size_t with_it = used + (used ? kGap : 0) + least(i);
    stays[i] = table.columns[i].priority == 0 || used == 0 || with_it <= width;
    if (stays[i]) used = with_it;
  }
  for (const size_t i : order) {
    if (!stays[i] || least(i) == column_widths[i]) continue;
    const size_t room = least(i) + width - std::min(width, used);
    cut_column(table, i, room);
    used += std::min(room, column_widths[i]) - least(i);
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
    if (left_out && !table.columns[i].extra)
      left_out->insert(left_out->begin(), table.columns[i].title);
    drop_column(table, i);
  }
}

std::string coloured(const std::string& text, Tone tone) {
  const char* const codes[] = {"", "\033[32m", "\033[31m", "\033[36m", "\033[1;32m"};
  if (tone == Tone::plain) return text;
  return codes[static_cast<size_t>(tone)] + text + "\033[0m";
}

}  // namespace

std::string to_plain(ResultTable table, const PlainOptions& options,
                     std::vector<std::string>* left_out) {
  for (Column& column : table.columns) column.title = one_line(std::move(column.title));
  for (auto& row : table.rows)
    for (Cell& cell : row) cell.text = one_line(std::move(cell.text));
  if (options.width) drop_what_does_not_fit(table, options.width, left_out);
  const std::vector<size_t> column_widths = widths(table);

  std::string out;
  const auto put_line = [&](const auto& text_of, const auto& tone_of) {
    size_t behind = 0;  // blanks that only a further text needs
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const std::string& text = text_of(i);
      const size_t pad = column_widths[i] - display_width(text);
      if (table.columns[i].right) behind += pad;
      if (!text.empty()) {
        out.append(behind, ' ');
        out += options.colours ? coloured(text, tone_of(i)) : text;
        behind = 0;
      }
      behind += kGap + (table.columns[i].right ? 0 : pad);
    }
    out += '\n';
  };
  put_line([&](size_t i) -> const std::string& { return table.columns[i].title; },
           [](size_t) { return Tone::plain; });
  for (const auto& row : table.rows)
    put_line([&](size_t i) -> const std::string& { return row[i].text; },
             [&](size_t i) { return row[i].tone; });
  return out;
}

namespace {

size_t column_of(const ResultTable& table, const std::string& name) {
  if (const auto found = find_column(table.columns, name)) return *found;
  std::string all;
  for (const Column& column : table.columns) all += (all.empty() ? "" : ", ") + column.key;
  const auto near = nearest(name, column_names(table));
  throw Error("command line: there is no column '" + name + "'" +
                  (near ? "; did you mean '" + *near + "'?" : "") + " (there are " + all + ")",
              ExitCode::bad_recipe);
}

}  // namespace

std::optional<size_t> find_column(const std::vector<Column>& columns, const std::string& name) {
  const auto of = [&](auto&& named) -> std::optional<size_t> {
    const auto found = std::find_if(columns.begin(), columns.end(), named);
    if (found == columns.end()) return std::nullopt;
    return static_cast<size_t>(found - columns.begin());
  };
  if (const auto found = of([&](const Column& column) { return column.key == name; })) return found;
  if (const auto found = of([&](const Column& column) { return column.title == name; }))
    return found;
  return of([&](const Column& column) { return is_written_as(column.title, name); });
}

bool is_written_as(std::string_view name, std::string_view text) {
  return std::ranges::equal(name, text, [](char meant, char written) {
    return written == meant || (written == '_' && (meant == ' ' || meant == '/')) ||
           (written == ' ' && meant == '/');
  });
}

std::vector<std::string> column_names(const ResultTable& table) {
  std::vector<std::string> names;
  for (const auto part : {&Column::key, &Column::title})
    for (const Column& column : table.columns) names.push_back(column.*part);
  return names;
}

void sort_rows(ResultTable& table, const std::string& name, bool reverse) {
  const size_t column = column_of(table, name);
  std::vector<Cell> cells;
  for (const auto& row : table.rows) cells.push_back(row[column]);
  std::vector<std::vector<Cell>> rows;
  for (const size_t row : sorted_order(cells, reverse)) rows.push_back(std::move(table.rows[row]));
  table.rows = std::move(rows);
}

void choose_columns(ResultTable& table, const std::vector<std::string>& names) {
  ResultTable chosen;
  std::vector<size_t> columns;
  for (const std::string& name : names) columns.push_back(column_of(table, name));
  for (const size_t column : columns) chosen.columns.push_back(table.columns[column]);
  for (auto& row : table.rows) {
    auto& cells = chosen.rows.emplace_back();
    for (const size_t column : columns) cells.push_back(row[column]);
  }
  table = std::move(chosen);
}

}  // namespace exprun
