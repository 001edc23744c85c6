#include "control/report/dates.h"

#include <chrono>

#include "base/strings.h"

namespace exprun {
namespace {

// Takes exactly so many digits.
std::optional<int> take_digits(std::string_view& text, size_t digits) {
  int number = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') return std::nullopt;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return number;
}

// The two digits after one of `signs`; nothing where none follows.
std::optional<int> take_part(std::string_view& text, std::string_view signs) {
  if (text.empty() || signs.find(text.front()) == signs.npos) return std::nullopt;
  text.remove_prefix(1);
  const auto number = take_digits(text, 2);
  return number ? number : -1;  // no date has such a part
}

TimeInterval interval(std::chrono::sys_seconds begin, std::chrono::sys_seconds end) {
  using Milliseconds = std::chrono::milliseconds;
  return {Milliseconds(begin.time_since_epoch()).count(),
          Milliseconds(end.time_since_epoch()).count()};
}

}  // namespace

std::optional<TimeInterval> interval_of_date(std::string_view text) {
  using namespace std::chrono;
  const auto year_number = take_digits(text, 4);
  if (!year_number) return std::nullopt;
  const auto month_number = take_part(text, "-");
  const auto day_number = month_number ? take_part(text, "-") : std::nullopt;
  const auto hour = day_number ? take_part(text, "T ") : std::nullopt;
  const auto minute = hour ? take_part(text, ":") : std::nullopt;
  const auto second = minute ? take_part(text, ":") : std::nullopt;
  if (minute)
    for (const std::string_view zone : {"Z", " UTC"})
      if (text == zone) text = {};
  const year_month first = year(*year_number) / month(month_number.value_or(1));
  const year_month_day date = first / day(day_number.value_or(1));
  const bool is_time =
      !hour || (minute && *hour >= 0 && *hour < 24 && *minute >= 0 && *minute < 60 &&
                second.value_or(0) >= 0 && second.value_or(0) < 60);
  if (!text.empty() || !date.ok() || !is_time) return std::nullopt;
  const sys_days begin(date);
  if (!month_number) return interval(begin, sys_days((first + years(1)) / day(1)));
  if (!day_number) return interval(begin, sys_days((first + months(1)) / day(1)));
  if (!hour) return interval(begin, begin + days(1));
  const sys_seconds time = begin + hours(*hour) + minutes(*minute) + seconds(second.value_or(0));
  return interval(time, time + (second ? seconds(1) : seconds(60)));
}

}  // namespace exprun
