#include "base/format_units.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace exprun {
namespace {

constexpr int kFirstFixed = -4;  // decimal exponents that are written out: 0.0003, 1e-5
constexpr int kLastFixed = 14;

}  // namespace

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  char* end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string text(buffer, end);
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  if (exponent < kFirstFixed || exponent > kLastFixed)
    return text.substr(0, e) + "e" + std::to_string(exponent);
  end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  return std::string(buffer, end);
}

std::string with_thousands(int64_t value) {
  std::string text = std::to_string(value);
  const size_t first_digit = text[0] == '-' ? 1 : 0;
  for (size_t i = text.size(); i > first_digit + 3;) text.insert(i -= 3, ",");
  return text;
}

namespace {

template <class... Values>
std::string format(const char* form, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, form, values...);
  return text;
}

// "12.3 MiB": three significant digits of a value below 1024.
std::string three_digits(double value, const std::string& unit) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return format("%.*f ", decimals, value) + unit;
}

constexpr double kNotWrittenOut = 1e6;

// "2.56e33" of "2.56e+33"
std::string with_short_exponent(const std::string& text) {
  const size_t e = text.find('e');
  if (e == text.npos) return text;
  return text.substr(0, e + 1) + std::to_string(std::atoi(text.c_str() + e + 1));
}

std::string with_exponent(double value) {
  return with_short_exponent(format("%.2e", value));
}

}  // namespace

std::string four_digits(double value) {
  if (!std::isfinite(value)) return shortest(value);
  if (value == 0) return "0";
  if (std::abs(value) >= kNotWrittenOut) return with_exponent(value);
  if (std::abs(value) >= 9999.5) return with_thousands(std::llround(value));
  std::string text = with_short_exponent(format("%#.4g", value));
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "nan";  // whatever its sign bit
  if (std::isfinite(value) && std::abs(value) >= kNotWrittenOut) return with_exponent(value);
  return format("%.*f", digits, value);
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 9.995) return format("%.2fs", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const int days = static_cast<int>(whole / 86400), hours = static_cast<int>(whole / 3600 % 24);
  const int minutes = static_cast<int>(whole / 60 % 60), rest = static_cast<int>(whole % 60);
  if (days) return format("%dd %02dh", days, hours);
  if (hours) return format("%dh %02dm", hours, minutes);
  if (minutes) return format("%dm %02ds", minutes, rest);
  return format("%ds", rest);
}

std::string binary_bytes(double bytes) {
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return format("%.0f B", bytes);
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1023.5 && unit < 4; bytes /= 1024) ++unit;
  return three_digits(bytes, units[unit]);
}

std::string in_thousands(double count) {
  const char* const units[] = {"k", "M", "G", "T", "P", "E"};
  if (count < 1000) return format("%.0f", count);
  size_t unit = 0;
  for (count /= 1000; count >= 999.5 && unit < 5; count /= 1000) ++unit;
  return three_digits(count, units[unit]);
}

std::string age(int64_t then_ms, int64_t now_ms) {
  const int64_t seconds = (now_ms - then_ms) / 1000;
  if (seconds < 5) return "just now";
  if (seconds < 60) return std::to_string(seconds) + "s ago";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m ago";
  if (seconds < 86400) return std::to_string(seconds / 3600) + "h ago";
  return std::to_string(seconds / 86400) + "d ago";
}

std::string utc_time(int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

}  // namespace exprun
