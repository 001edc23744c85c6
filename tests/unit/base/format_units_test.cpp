#include "base/format_units.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace exprun;

TEST_CASE("humane: a loss has four significant digits") {
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

TEST_CASE("humane: so many decimals, but none behind what is too long to read") {
  CHECK(fixed(1.91494, 4) == "1.9149");
  CHECK(fixed(-std::nan(""), 4) == "nan");
  CHECK(fixed(2.5612e33, 4) == "2.56e33");
  CHECK(fixed(INFINITY, 4) == "inf");
}

TEST_CASE("humane: a duration has its two largest units") {
  CHECK(duration(0.4218) == "0.42s");
  CHECK(duration(9.996) == "10s");
  CHECK(duration(59.4) == "59s");
  CHECK(duration(72) == "1m 12s");
  CHECK(duration(7500) == "2h 05m");
  CHECK(duration(3 * 86400 + 4 * 3600) == "3d 04h");
  CHECK(duration(-1) == "?");
}

TEST_CASE("humane: bytes and counts have three digits") {
  CHECK(binary_bytes(512) == "512 B");
  CHECK(binary_bytes(1536) == "1.50 KiB");
  CHECK(binary_bytes(12.34 * 1024 * 1024) == "12.3 MiB");
  CHECK(binary_bytes(1023.9 * 1024) == "1.00 MiB");
  CHECK(in_thousands(813) == "813");
  CHECK(in_thousands(813440) == "813 k");
  CHECK(in_thousands(2.5e9) == "2.50 G");
}

TEST_CASE("humane: age has one unit") {
  CHECK(age(0, 4000) == "just now");
  CHECK(age(0, 59'000) == "59s ago");
  CHECK(age(0, 3'599'000) == "59m ago");
  CHECK(age(0, 86'399'000) == "23h ago");
  CHECK(age(0, 86'400'000) == "1d ago");
}
