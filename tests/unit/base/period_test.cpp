#include "base/period.h"

#include <doctest/doctest.h>

using namespace exprun;

namespace {

Period period(double count, PeriodUnit unit) {
  return {count, unit};
}

}  // namespace

TEST_CASE("period: units in singular and plural, with and without a space") {
  CHECK(parse_period("250 steps") == period(250, PeriodUnit::steps));
  CHECK(parse_period("1 step") == period(1, PeriodUnit::steps));
  CHECK(parse_period("0 steps") == period(0, PeriodUnit::steps));
  CHECK(parse_period("1 epoch") == period(1, PeriodUnit::epochs));
  CHECK(parse_period("0.5 epochs") == period(0.5, PeriodUnit::epochs));
  CHECK(parse_period("30min") == period(1800, PeriodUnit::seconds));
  CHECK(parse_period(" 10 s ") == period(10, PeriodUnit::seconds));
  CHECK(parse_period("1.5 h") == period(5400, PeriodUnit::seconds));
  CHECK(parse_period("2 hours") == period(7200, PeriodUnit::seconds));
}

TEST_CASE("period: magnitudes of steps and tokens") {
  CHECK(parse_period("10M tokens") == period(1e7, PeriodUnit::tokens));
  CHECK(parse_period("10B tokens") == period(1e10, PeriodUnit::tokens));
  CHECK(parse_period("1T tokens") == period(1e12, PeriodUnit::tokens));
  CHECK(parse_period("1.5k steps") == period(1500, PeriodUnit::steps));
  CHECK(parse_period("524_288 tokens") == period(524288, PeriodUnit::tokens));
  CHECK(parse_period("1e9 tokens") == period(1e9, PeriodUnit::tokens));
  CHECK(parse_period("1e-5 epochs") == period(1e-5, PeriodUnit::epochs));
  CHECK(parse_period("1e+2 steps") == period(100, PeriodUnit::steps));
  CHECK(parse_period(to_string({5e-6, PeriodUnit::epochs})) == period(5e-6, PeriodUnit::epochs));
  CHECK_FALSE(parse_period("1e- steps"));
}

TEST_CASE("period: what is none") {
  for (const char* text :
       {"", "250", "steps", "250 stps", "-1 steps", "2.5 steps", "1k epochs", "1M min", "inf steps",
        "nan epochs", "1..5 epochs", "1 2 steps", "10 M tokens per", "0x10 steps", "5 Steps"})
    CHECK_MESSAGE(!parse_period(text), text);
}

TEST_CASE("period: the canonical spelling reads back to the same period") {
  CHECK(to_string({1, PeriodUnit::steps}) == "1 step");
  CHECK(to_string({250, PeriodUnit::steps}) == "250 steps");
  CHECK(to_string({1e7, PeriodUnit::tokens}) == "10M tokens");
  CHECK(to_string({524288, PeriodUnit::tokens}) == "524288 tokens");
  CHECK(to_string({0.05, PeriodUnit::epochs}) == "0.05 epochs");
  CHECK(to_string({1800, PeriodUnit::seconds}) == "30 min");
  CHECK(to_string({7200, PeriodUnit::seconds}) == "2 h");
  CHECK(to_string({90, PeriodUnit::seconds}) == "90 s");
  for (const char* text : {"0 tokens", "3 epochs", "12.5 epochs", "1500 steps", "3k tokens",
                           "1000001 tokens", "0.1 s", "7 min"}) {
    const auto read = parse_period(text);
    REQUIRE(read);
    CHECK(parse_period(to_string(*read)) == read);
  }
}
