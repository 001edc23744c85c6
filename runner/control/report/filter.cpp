#include "control/report/filter.h"

#include <algorithm>
#include <cmath>
#include <compare>

#include "base/period.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "control/report/dates.h"

namespace exprun {
namespace {

using Kind = Expression::Kind;

// One side of a comparison. A number that is written like one may also be meant as a text: a run
// may be named 2024.
struct Side {
  std::optional<int64_t> integer;
  std::optional<double> number;
  std::string text;

  explicit Side(const Literal& literal)
      : integer(literal.integer), number(literal.number), text(literal.text) {}
  explicit Side(const Cell& cell) : number(cell.as_number()), text(cell.text) {
    if (const auto* whole = std::get_if<int64_t>(&cell.value)) integer = *whole;
    if (const auto* word = std::get_if<std::string>(&cell.value)) text = *word;
  }
};

bool is_empty(const Cell& cell) {
  return cell.is_none();
}

// Whole numbers exactly, beyond 2^53 too.
std::partial_ordering compared(const Side& a, const Side& b) {
  if (a.integer && b.integer) return *a.integer <=> *b.integer;
  return *a.number <=> *b.number;
}

bool equal_numbers(const Side& a, const Side& b) {
  return (std::isnan(*a.number) && std::isnan(*b.number)) || is_eq(compared(a, b));
}

// Items of arrays: 1 is 1.0, and a text is itself with quotes or without.
bool equal_items(const Literal& a, const Literal& b) {
  if (a.is_array != b.is_array) return false;
  if (a.is_array)
    return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), equal_items);
  return a.number && b.number ? equal_numbers(Side(a), Side(b)) : a.text == b.text;
}

bool equals(const Cell& cell, const Literal& literal) {
  if (const auto* word = std::get_if<std::string>(&cell.value)) {
    // Also as it is shown: the state "finished" may stand there as "finished early".
    if (!literal.is_array) return *word == literal.text || cell.text == literal.text;
    const auto array = parse_array(*word);
    return array && equal_items(*array, literal);
  }
  return literal.number && equal_numbers(Side(cell), Side(literal));
}

bool equals(const Cell& a, const Cell& b) {
  const Side x(a), y(b);
  return x.number && y.number ? equal_numbers(x, y) : x.text == y.text;
}

bool in_order(const std::string& sign, std::partial_ordering order) {
  if (sign == "<") return is_lt(order);
  if (sign == "<=") return is_lteq(order);
  return sign == ">" ? is_gt(order) : is_gteq(order);
}

// A year, a month, a day, a minute or a second, which is as long as it is written.
std::optional<TimeInterval> interval_of(const Literal& literal) {
  return literal.is_array ? std::nullopt : interval_of_date(literal.text);
}

// With the whole of the interval: what is after a day is not in it.
bool compares(const std::string& sign, int64_t time, const TimeInterval& interval) {
  if (sign == "<") return time < interval.begin;
  if (sign == "<=") return time < interval.end;
  if (sign == ">") return time >= interval.end;
  if (sign == ">=") return time >= interval.begin;
  const bool is_in = time >= interval.begin && time < interval.end;
  return sign == "=" ? is_in : !is_in;
}

template <typename Right>
bool compares(const std::string& sign, const Cell& cell, const Right& right) {
  if (is_empty(cell)) return false;
  if (sign == "=") return equals(cell, right);
  if (sign == "!=") return !equals(cell, right);
  const Side a(cell), b(right);
  return a.number && b.number && in_order(sign, compared(a, b));
}

// '*' is any text, '?' any character. Goes back to the last '*' only, so that no pattern takes
// long.
bool matches(std::string_view text, std::string_view pattern) {
  std::string_view after_star, text_of_star;
  bool has_star = false;
  while (!text.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      after_star = pattern;
      text_of_star = text;
      has_star = true;
    } else if (pattern.starts_with('?')) {
      pattern.remove_prefix(1);
      text.remove_prefix(first_code_point(text).bytes.size());
    } else if (!pattern.empty() && pattern.front() == text.front()) {
      pattern.remove_prefix(1);
      text.remove_prefix(1);
    } else if (has_star) {
      pattern = after_star;
      text_of_star.remove_prefix(1);
      text = text_of_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*') == pattern.npos;
}

bool compares(const RunValues& values, size_t run, const std::string& sign,
              const Literal& literal) {
  const Cell& cell = values.cells[run];
  const auto interval = values.are_times ? interval_of(literal) : std::nullopt;
  if (const auto* time = std::get_if<int64_t>(&cell.value); time && interval)
    return compares(sign, *time, *interval);
  return compares(sign, cell, literal);
}

class Filter {
 public:
  Filter(std::shared_ptr<const SourceFile> source, size_t runs, const RunFacts& facts)
      : source_(std::move(source)), runs_(runs), facts_(facts) {}

  std::vector<bool> of(const Expression& expression) const {
    switch (expression.kind) {
      case Kind::all_of:
      case Kind::any_of:
        return joined(expression);
      case Kind::negation: {
        std::vector<bool> held = of(expression.parts[0]);
        held.flip();
        return held;
      }
      case Kind::has_tag:
        return each([&](size_t run) { return facts_.has_tag(run, expression.literals[0].text); });
      default:
        return compared_values(expression);
    }
  }

 private:
  template <typename Holds>
  std::vector<bool> each(Holds&& holds) const {
    std::vector<bool> held(runs_);
    for (size_t run = 0; run < runs_; ++run) held[run] = holds(run);
    return held;
  }

  std::vector<bool> joined(const Expression& expression) const {
    const bool all = expression.kind == Kind::all_of;
    std::vector<bool> held(runs_, all);
    for (const Expression& part : expression.parts) {
      const std::vector<bool> one = of(part);
      for (size_t run = 0; run < runs_; ++run)
        held[run] = all ? held[run] && one[run] : held[run] || one[run];
    }
    return held;
  }

  std::vector<bool> compared_values(const Expression& expression) const {
    const RunValues values = facts_.values(expression.value);
    check(expression, values);
    const auto& cells = values.cells;
    const auto& literals = expression.literals;
    if (expression.kind == Kind::has_value)
      return each([&](size_t run) { return !is_empty(cells[run]); });
    if (expression.kind == Kind::matches)
      return each([&](size_t run) {
        const Cell& cell = cells[run];
        const bool is_word = std::holds_alternative<std::string>(cell.value);
        return !is_empty(cell) && (matches(Side(cell).text, literals[0].text) ||
                                   (is_word && matches(cell.text, literals[0].text)));
      });
    if (expression.kind == Kind::is_in)
      return each([&](size_t run) {
        return std::any_of(literals.begin(), literals.end(),
                           [&](auto& item) { return compares(values, run, "=", item); });
      });
    if (!expression.right_name)
      return each([&](size_t run) { return compares(values, run, expression.sign, literals[0]); });
    const auto right = facts_.values(*expression.right_name).cells;
    return each([&](size_t run) {
      return !is_empty(right[run]) && compares(expression.sign, cells[run], right[run]);
    });
  }

  [[noreturn]] void refuse(Extent where, const std::string& message,
                           const std::string& help) const {
    throw RecipeError(span_of(source_, where.begin, where.size), message, help);
  }

  // "warmup > 5" of durations.
  void check_order(const Expression& expression, const RunValues& values) const {
    if (values.no_number.empty()) return;
    const auto& cells = values.cells;
    const auto shown = std::ranges::find_if_not(cells, is_empty);
    refuse(expression.value.where,
           expression.sign + " compares numbers, but " + to_string(expression.value) + " is " +
               values.no_number +
               (shown == cells.end() ? "" : ", such as '" + Side(*shown).text + "'"),
           "use = or ~");
  }

  void check(const Expression& expression, const RunValues& values) const {
    const std::string& name = expression.value.name;
    const bool orders =
        expression.kind == Kind::comparison && expression.sign != "=" && expression.sign != "!=";
    const bool pattern = expression.kind == Kind::matches;
    if (pattern || expression.kind == Kind::has_value) return;
    if (name == "tags" || name == "run.tags")
      refuse(expression.value.where, "a run may have several tags", kHowToAskForTag);
    for (const Literal& literal : expression.literals) {
      const std::string shown = "'" + literal.text + "'";
      if (name == "state") {
        check_state(literal);
      } else if (values.are_times) {
        if (!literal.number && !interval_of(literal))
          refuse(literal.where,
                 to_string(expression.value) + " is a time, but " + shown + " is not",
                 "write a date in UTC, as in 2026-11-01 or 2026-11-01T14:30, or milliseconds since "
                 "1970");
      } else if (values.are_numbers && !literal.number) {
        refuse(literal.where,
               to_string(expression.value) + " is a number, but " + shown + " is not", "");
      } else if (orders && !literal.number) {
        refuse(literal.where,
               expression.sign + " compares numbers, but " + shown + " is not a number",
               "use = or ~");
      }
    }
    if (orders) check_order(expression, values);
  }

  void check_state(const Literal& literal) const {
    const std::vector<std::string>& names = facts_.states;
    if (std::find(names.begin(), names.end(), literal.text) != names.end()) return;
    const auto near = nearest(literal.text, names);
    refuse(literal.where, "there is no state '" + literal.text + "'",
           near ? "did you mean '" + *near + "'?" : "there are " + listed(names));
  }

  std::shared_ptr<const SourceFile> source_;
  size_t runs_;
  const RunFacts& facts_;
};

}  // namespace

std::vector<bool> holds(const Expression& expression,
                        const std::shared_ptr<const SourceFile>& source, size_t runs,
                        const RunFacts& facts) {
  return Filter(source, runs, facts).of(expression);
}

}  // namespace exprun
