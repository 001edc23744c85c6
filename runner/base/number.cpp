#include "base/number.h"

#include <charconv>
#include <cmath>

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

}  // namespace exprun
