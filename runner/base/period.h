// Periods and lengths with their unit: "250 steps", "1 epoch", "10M tokens", "30 min".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace exprun {

enum class PeriodUnit { steps, epochs, tokens, seconds };

struct Period {
  double count = 0;  // of the unit; "10M tokens" is 1e7, "30 min" is 1800 seconds
  PeriodUnit unit = PeriodUnit::steps;

  friend bool operator==(const Period&, const Period&) = default;
};

// Accepts singular and plural, k M B T before "tokens" and "steps", and s, sec, min, h for time.
// Nothing if the text is no period; a bare number is none (its unit could be mistaken).
std::optional<Period> parse_period(std::string_view text);

// The canonical spelling, read back to the same period.
std::string to_string(const Period& period);

}  // namespace exprun
