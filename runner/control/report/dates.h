// Dates of --where, as in started > 2026-11-01.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace exprun {

// Unix milliseconds, without `end`.
struct TimeInterval {
  int64_t begin = 0, end = 0;
};

// The time that a date names, in UTC: 2026 is a year, 2026-11 a month, 2026-11-01 a day,
// "2026-11-01 14:30" or 2026-11-01T14:30 a minute, and 2026-11-01T14:30:05 a second. A Z or UTC may
// end it, as utc_time writes it.
std::optional<TimeInterval> interval_of_date(std::string_view text);

}  // namespace exprun
