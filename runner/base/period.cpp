#include "base/period.h"

#include <cmath>

#include "base/format_units.h"

namespace exprun {
namespace {

struct UnitName {
  std::string_view text;
  PeriodUnit unit;
  double factor;
};

constexpr UnitName kUnits[] = {
    {"steps", PeriodUnit::steps, 1},      {"step", PeriodUnit::steps, 1},
    {"epochs", PeriodUnit::epochs, 1},    {"epoch", PeriodUnit::epochs, 1},
    {"tokens", PeriodUnit::tokens, 1},    {"token", PeriodUnit::tokens, 1},
    {"s", PeriodUnit::seconds, 1},        {"sec", PeriodUnit::seconds, 1},
    {"seconds", PeriodUnit::seconds, 1},  {"second", PeriodUnit::seconds, 1},
    {"min", PeriodUnit::seconds, 60},     {"minutes", PeriodUnit::seconds, 60},
    {"minute", PeriodUnit::seconds, 60},  {"h", PeriodUnit::seconds, 3600},
    {"hours", PeriodUnit::seconds, 3600}, {"hour", PeriodUnit::seconds, 3600},
};

struct Magnitude {
  char letter;
  double factor;
};

constexpr Magnitude kMagnitudes[] = {{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'k', 1e3}};

bool countable(PeriodUnit unit) {
  return unit == PeriodUnit::steps || unit == PeriodUnit::tokens;
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "e9", "e-5"
bool begins_exponent(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
  const bool sign = text[1] == '-' || text[1] == '+';
  return is_digit(text[1]) || (sign && text.size() > 2 && is_digit(text[2]));
}

// Digits as TOML writes them: 10_000, 0.5, 1e9.
std::optional<double> take_number(std::string_view& text) {
  std::string digits;
  size_t used = 0;
  for (; used < text.size(); ++used) {
    const char c = text[used];
    if (c == '_') continue;
    if (!is_digit(c) && c != '.' && !begins_exponent(text.substr(used))) break;
    digits += c;
    if (!is_digit(c) && c != '.' && !is_digit(text[used + 1])) digits += text[++used];  // its sign
  }
  const auto value = parse_number<double>(digits);
  if (!value) return std::nullopt;
  text.remove_prefix(used);
  return value;
}

double take_magnitude(std::string_view& text) {
  for (const Magnitude& magnitude : kMagnitudes) {
    if (text.empty() || text.front() != magnitude.letter) continue;
    text.remove_prefix(1);
    return magnitude.factor;
  }
  return 1;
}

const UnitName* find_unit(std::string_view text) {
  for (const UnitName& unit : kUnits)
    if (unit.text == text) return &unit;
  return nullptr;
}

std::string with_unit(double count, const char* singular) {
  return shortest(count) + " " + singular + (count == 1 ? "" : "s");
}

std::string tokens(double count) {
  for (const Magnitude& magnitude : kMagnitudes)
    if (count > 0 && std::fmod(count, magnitude.factor) == 0)
      return shortest(count / magnitude.factor) + magnitude.letter + " tokens";
  return with_unit(count, "token");
}

std::string in_largest_unit(double seconds) {
  if (seconds > 0 && std::fmod(seconds, 3600) == 0) return shortest(seconds / 3600) + " h";
  if (seconds > 0 && std::fmod(seconds, 60) == 0) return shortest(seconds / 60) + " min";
  return shortest(seconds) + " s";
}

}  // namespace

std::optional<Period> parse_period(std::string_view text) {
  skip_spaces(text);
  const std::optional<double> number = take_number(text);
  if (!number) return std::nullopt;
  const double magnitude = take_magnitude(text);
  skip_spaces(text);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const UnitName* unit = find_unit(text);
  if (unit == nullptr || (magnitude != 1 && !countable(unit->unit))) return std::nullopt;
  const double count = *number * magnitude * unit->factor;
  if (countable(unit->unit) && std::floor(count) != count) return std::nullopt;
  return Period{count, unit->unit};
}

std::string to_string(const Period& period) {
  switch (period.unit) {
    case PeriodUnit::steps:
      return with_unit(period.count, "step");
    case PeriodUnit::epochs:
      return with_unit(period.count, "epoch");
    case PeriodUnit::tokens:
      return tokens(period.count);
    case PeriodUnit::seconds:
      return in_largest_unit(period.count);
  }
  return "";
}

}  // namespace exprun
