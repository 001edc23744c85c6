// A value in a table, for people and for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace exprun {

// How a cell is colored on a terminal. `best` is the best of its column: bold in documents too.
enum class Tone { plain, good, bad, active, best };

struct Cell {
  std::variant<std::monostate, int64_t, double, std::string> value;  // for machines
  std::string text;                                                  // for people
  Tone tone = Tone::plain;
  bool is_boolean = false;  // the text is "true" or "false" without quotes: one in JSON

  std::optional<double> as_number() const;  // nothing for a text, and without a value

  bool is_none() const { return value.index() == 0; }

  static Cell none() { return {}; }
  static Cell integer(int64_t value);
  static Cell number(double value);  // shown with four significant digits
  static Cell number(double value, std::string text) { return {value, std::move(text)}; }
  static Cell word(std::string text, Tone tone = Tone::plain) { return {text, text, tone}; }
  static Cell message(std::string text);  // shown with its first line: a mistake's place may follow
};

std::string bare_text(const std::string& toml);  // without the quotes of a string
// A value as TOML writes it, without the quotes of a string.
Cell value_cell(const std::string& toml);

// Whether cells stand right: none of them is a text.
bool all_numbers(const std::vector<Cell>& cells);

// The order of these cells, the lowest first, or the highest: NaN after what can be compared, and
// what has no value last, either way. Equal ones stay in their order.
std::vector<size_t> sorted_order(const std::vector<Cell>& cells, bool highest_first);

// What a name says of each run.
struct RunValues {
  std::vector<Cell> cells;     // one for each run; without a value where the run has none
  bool are_numbers = false;    // in every run that has one; a parameter may be anything
  std::string series = {};     // whose values they are, where they are of a series
  bool are_times = false;      // in Unix milliseconds
  std::string no_number = {};  // "a text": what they are where they can be numbers in no run
};

}  // namespace exprun
