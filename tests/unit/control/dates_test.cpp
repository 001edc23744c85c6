#include "control/report/dates.h"

#include <doctest/doctest.h>

#include <string>

#include "base/format_units.h"

using namespace exprun;

namespace {

// "BEGIN to END" of the period, or "" of what is no date.
std::string read(const std::string& text) {
  const auto interval = interval_of_date(text);
  return interval ? utc_time(interval->begin) + " to " + utc_time(interval->end) : "";
}

}  // namespace

TEST_CASE("dates: a date is as long as what it is written to") {
  CHECK(read("2024") == "2024-01-01 00:00:00 UTC to 2025-01-01 00:00:00 UTC");
  CHECK(read("2024-02") == "2024-02-01 00:00:00 UTC to 2024-03-01 00:00:00 UTC");
  CHECK(read("2024-12") == "2024-12-01 00:00:00 UTC to 2025-01-01 00:00:00 UTC");
  CHECK(read("2024-02-29") == "2024-02-29 00:00:00 UTC to 2024-03-01 00:00:00 UTC");
  CHECK(read("2024-02-29T23:59") == "2024-02-29 23:59:00 UTC to 2024-03-01 00:00:00 UTC");
  for (const char* second :
       {"2024-02-29 10:20:30", "2024-02-29T10:20:30Z", "2024-02-29 10:20:30 UTC"})
    CHECK(read(second) == "2024-02-29 10:20:30 UTC to 2024-02-29 10:20:31 UTC");
}

TEST_CASE("dates: what is none") {
  for (const char* text :
       {"", "24", "20245", "2024-", "2024-1", "2024-13", "2023-02-29", "2024-00-01", "2024-01-01T",
        "2024-01-01T10", "2024-01-01T24:00", "2024-01-01T10:60", "2024-01-01T10:00:60",
        "2024-01-01 10:00 CET", "2024-01-01Z", "2024/01/01", "1700000000000", "yesterday"})
    CHECK_MESSAGE(read(text) == "", text);
}
