#include "base/format_units.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/random.h"

using namespace exprun;

TEST_CASE("format units: the shortest text, written as people write it") {
  CHECK(shortest(3e-4) == "0.0003");
  CHECK(shortest(1e-5) == "1e-5");
  CHECK(shortest(1e-8) == "1e-8");
  CHECK(shortest(0.1 + 0.2) == "0.30000000000000004");
  CHECK(shortest(1) == "1");
  CHECK(shortest(-0.0) == "-0");
  CHECK(shortest(1e6) == "1000000");
  CHECK(shortest(123456.789) == "123456.789");
  CHECK(shortest(1e22) == "1e22");
  CHECK(shortest(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(shortest(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(shortest(std::nan("")) == "nan");
}

TEST_CASE("format units: every text reads back to the same number") {
  for (uint64_t i = 0; i < 2000; ++i) {
    const double mantissa = static_cast<double>(random_bits({1, i}) >> 11);
    const double value = std::ldexp(mantissa, static_cast<int>(random_below(300, {2, i})) - 150);
    CHECK(std::strtod(shortest(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("format units: thousands") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(1234567) == "1,234,567");
  CHECK(with_thousands(-1234567) == "-1,234,567");
  CHECK(with_thousands(-100) == "-100");
  CHECK(with_thousands(std::numeric_limits<int64_t>::min()) == "-9,223,372,036,854,775,808");
}

TEST_CASE("format units: a loss has four significant digits") {
  CHECK(four_digits(1.91489) == "1.915");
  CHECK(four_digits(1.9) == "1.900");
  CHECK(four_digits(10.8249) == "10.82");
  CHECK(four_digits(1234) == "1234");
  CHECK(four_digits(12345.6) == "12,346");
  CHECK(four_digits(0) == "0");
  CHECK(four_digits(3e-5) == "3.000e-5");
  CHECK(four_digits(999'999) == "999,999");
  CHECK(four_digits(2.5612e33) == "2.56e33");
  CHECK(four_digits(-1e6) == "-1.00e6");
  CHECK(four_digits(NAN) == "nan");
  CHECK(four_digits(-INFINITY) == "-inf");
}

TEST_CASE("format units: so many decimals, but none behind what is too long to read") {
  CHECK(fixed(1.91494, 4) == "1.9149");
  CHECK(fixed(-std::nan(""), 4) == "nan");
  CHECK(fixed(2.5612e33, 4) == "2.56e33");
  CHECK(fixed(INFINITY, 4) == "inf");
}

TEST_CASE("format units: a duration has its two largest units") {
  CHECK(duration(0.4218) == "0.42s");
  CHECK(duration(9.996) == "10s");
  CHECK(duration(59.4) == "59s");
  CHECK(duration(72) == "1m 12s");
  CHECK(duration(7500) == "2h 05m");
  CHECK(duration(3 * 86400 + 4 * 3600) == "3d 04h");
  CHECK(duration(-1) == "?");
}

TEST_CASE("format units: bytes and counts have three digits") {
  CHECK(binary_bytes(512) == "512 B");
  CHECK(binary_bytes(1536) == "1.50 KiB");
  CHECK(binary_bytes(12.34 * 1024 * 1024) == "12.3 MiB");
  CHECK(binary_bytes(1023.9 * 1024) == "1.00 MiB");
  CHECK(in_thousands(813) == "813");
  CHECK(in_thousands(813440) == "813 k");
  CHECK(in_thousands(2.5e9) == "2.50 G");
}

TEST_CASE("format units: age has one unit") {
  CHECK(age(0, 4000) == "just now");
  CHECK(age(0, 59'000) == "59s ago");
  CHECK(age(0, 3'599'000) == "59m ago");
  CHECK(age(0, 86'399'000) == "23h ago");
  CHECK(age(0, 86'400'000) == "1d ago");
}
