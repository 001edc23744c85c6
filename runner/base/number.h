// Numbers as text, and back.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace exprun {

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
