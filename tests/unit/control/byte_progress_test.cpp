#include "control/data/byte_progress.h"

#include <doctest/doctest.h>

using namespace exprun;

TEST_CASE("byte progress: says how much, how fast and how long still") {
  constexpr int64_t kMiB = int64_t{1} << 20;
  CHECK(byte_progress("preparing", 300 * kMiB, 900 * kMiB, 3) ==
        "preparing: 300 MiB of 900 MiB, 100 MiB/s, ETA 6 s");
  CHECK(byte_progress("preparing", 3 * kMiB, 900 * kMiB, 0.5) == "preparing: 3.00 MiB of 900 MiB");
  CHECK(byte_progress("fetching", 0, 900 * kMiB, 4) == "fetching: 0 B of 900 MiB, 0 B/s");
  // what an earlier process did took this one no time
  CHECK(byte_progress("preparing", 600 * kMiB, 900 * kMiB, 3, 300 * kMiB) ==
        "preparing: 600 MiB of 900 MiB, 100 MiB/s, ETA 3 s");
  // of standard input nobody knows the end, and a file that grew is no negative time
  CHECK(byte_progress("preparing", 50 * kMiB, 0, 5) == "preparing: 50.0 MiB, 10.0 MiB/s");
  CHECK(byte_progress("preparing", 10 * kMiB, 5 * kMiB, 5) ==
        "preparing: 10.0 MiB of 5.00 MiB, 2.00 MiB/s, ETA <1 s");
}
