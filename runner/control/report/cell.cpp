#include "control/report/cell.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/format_units.h"

namespace exprun {
namespace {

// Whatever the direction: NaN after what can be compared, and what has no value last.
enum class Place { comparable, nan, empty };

Place place_of(const Cell& cell) {
  if (cell.is_none()) return Place::empty;
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

std::optional<double> Cell::as_number() const {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

Cell Cell::integer(int64_t value) {
  return {value, std::to_string(value)};
}

Cell Cell::number(double value) {
  return {value, four_digits(value)};
}

Cell Cell::message(std::string text) {
  std::string first = text.substr(0, text.find('\n'));
  return {std::move(text), std::move(first)};
}

std::string bare_text(const std::string& toml) {
  const bool quoted = toml.size() >= 2 && toml.front() == '"' && toml.back() == '"';
  return quoted ? toml.substr(1, toml.size() - 2) : toml;
}

// Numbers stay numbers in JSON and CSV, booleans booleans in JSON.
Cell value_cell(const std::string& toml) {
  const std::string text = bare_text(toml);
  if (const auto integer = parse_number<int64_t>(text)) return {*integer, text};
  if (const auto number = parse_number<double>(text))
    return Cell::number(*number, shortest(*number));
  if (text.empty()) return Cell::none();
  Cell cell = Cell::word(text);
  cell.is_boolean = toml == "true" || toml == "false";
  return cell;
}

bool all_numbers(const std::vector<Cell>& cells) {
  return std::none_of(cells.begin(), cells.end(), [](const Cell& cell) {
    return std::holds_alternative<std::string>(cell.value);
  });
}

std::vector<size_t> sorted_order(const std::vector<Cell>& cells, bool highest_first) {
  std::vector<size_t> order(cells.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    const Cell &a = cells[i], &b = cells[j];
    const Place of_a = place_of(a), of_b = place_of(b);
    if (of_a != of_b || of_a != Place::comparable) return of_a < of_b;
    return highest_first ? is_less(b, a) : is_less(a, b);
  });
  return order;
}

}  // namespace exprun
