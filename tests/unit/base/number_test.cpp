#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/format_units.h"
#include "base/random.h"

using namespace exprun;

TEST_CASE("number: the shortest text, written as people write it") {
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

TEST_CASE("number: every text reads back to the same number") {
  for (uint64_t i = 0; i < 2000; ++i) {
    const double mantissa = static_cast<double>(random_bits({1, i}) >> 11);
    const double value = std::ldexp(mantissa, static_cast<int>(random_below(300, {2, i})) - 150);
    CHECK(std::strtod(shortest(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("number: thousands") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(1234567) == "1,234,567");
  CHECK(with_thousands(-1234567) == "-1,234,567");
  CHECK(with_thousands(-100) == "-100");
  CHECK(with_thousands(std::numeric_limits<int64_t>::min()) == "-9,223,372,036,854,775,808");
}
