// Quantities as people read them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace exprun {

std::string four_digits(double value);  // 1.9149 -> "1.915", 3e-5 -> "3.000e-5", 2e6 -> "2.00e6"
// 1.91494 to 4 digits: "1.9149"; nan -> "nan", 2.5612e33 -> "2.56e33"
std::string fixed(double value, int digits);
std::string duration(double seconds);              // "0.42s", "12s", "1m 12s", "2h 05m", "3d 04h"
std::string binary_bytes(double bytes);            // "512 B", "12.3 MiB"
std::string in_thousands(double count);            // 813000 -> "813 k", 2.5e9 -> "2.50 G"
std::string age(int64_t then_ms, int64_t now_ms);  // "just now", "5m ago", "3d ago"
std::string utc_time(int64_t ms);                  // 1700000000000 -> "2023-11-14 22:13:20 UTC"

// Numbers as text, and back.

// The shortest form that reads back to the same value: 3e-4 -> "0.0003", inf -> "inf", nan ->
// "nan".
std::string shortest(double value);
std::string with_thousands(int64_t value);  // 1234567 -> "1,234,567"

// Nothing unless all of the text is one that the type holds.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace exprun
