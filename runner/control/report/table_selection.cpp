#include "control/report/table_selection.h"

#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "base/suggest.h"

namespace exprun {
namespace {

size_t column_of(const ResultTable& table, const std::string& name) {
  if (const auto found = find_column(table, name)) return *found;
  std::string all;
  for (const Column& column : table.columns) all += (all.empty() ? "" : ", ") + column.key;
  const auto near = nearest(name, column_names(table));
  throw Error("command line: there is no column '" + name + "'" +
                  (near ? ", did you mean '" + *near + "'?" : "") + " (there are " + all + ")",
              ExitCode::bad_recipe);
}

// Whatever the direction: NaN behind what can be compared, and what has no value last.
enum class Place { comparable, nan, empty };

Place place_of(const Cell& cell) {
  if (cell.value.index() == 0) return Place::empty;
  const auto number = cell.as_number();
  return number && std::isnan(*number) ? Place::nan : Place::comparable;
}

bool is_less(const Cell& a, const Cell& b) {
  const auto* text_a = std::get_if<std::string>(&a.value);
  const auto* text_b = std::get_if<std::string>(&b.value);
  if (text_a && text_b) return *text_a < *text_b;
  if (text_a || text_b) return text_b != nullptr;  // numbers before texts
  return *a.as_number() < *b.as_number();
}

}  // namespace

std::optional<size_t> find_column(const ResultTable& table, const std::string& name) {
  for (const auto part : {&Column::key, &Column::title})
    for (size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].*part == name) return i;
  return std::nullopt;
}

std::vector<std::string> column_names(const ResultTable& table) {
  std::vector<std::string> names;
  for (const auto part : {&Column::key, &Column::title})
    for (const Column& column : table.columns) names.push_back(column.*part);
  return names;
}

void sort_rows(ResultTable& table, const std::string& name, bool reverse) {
  const size_t column = column_of(table, name);
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    const Place of_a = place_of(a[column]), of_b = place_of(b[column]);
    if (of_a != of_b || of_a != Place::comparable) return of_a < of_b;
    return reverse ? is_less(b[column], a[column]) : is_less(a[column], b[column]);
  });
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

std::vector<std::string> words_of_list(const std::string& list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace exprun
