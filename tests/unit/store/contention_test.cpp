// Many processes that write to one store while others read it: how long they wait, the benchmark
// store_contention says.
#include "tests/unit/store/contention.h"

#include <doctest/doctest.h>

using namespace exprun;
using std::chrono::milliseconds;

namespace {

constexpr int64_t kWalBytes = 64 << 20;

// As often as `exprun ls` run again and again by hand and by programs that watch.
constexpr milliseconds kPolling{200};

void check_that_all_get_on(const Contention& how) {
  const ContentionResult result = contend(how);
  CHECK(result.failed_processes == 0);
  // SQLite's BUSY. On a machine with much else to do a writer may wait for longer than its
  // patience: its rows come by way of its journal.
  CHECK(result.warnings.find("keeps it locked") == std::string::npos);
  CHECK(result.rows_in_store == result.rows);
  CHECK(result.rows_of_slowest > 0);
  CHECK(result.reads >= how.readers);
  CHECK(result.integrity == "ok");
  CHECK(result.largest_wal_bytes < kWalBytes);
}

}  // namespace

TEST_SUITE_BEGIN("slow");

TEST_CASE("contention: 16 writers every 250 ms, 4 readers 5 times a second: all get on") {
  check_that_all_get_on({16, 4, milliseconds(2'000), milliseconds(250), kPolling});
}
TEST_CASE("contention: 16 writers and 4 readers, all without a pause: all get on") {
  check_that_all_get_on({16, 4, milliseconds(2'000), milliseconds(0), milliseconds(0)});
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("long");

TEST_CASE("contention: 64 writers every 250 ms, 8 readers 5 times a second: all get on") {
  check_that_all_get_on({64, 8, milliseconds(30'000), milliseconds(250), kPolling});
}
TEST_CASE("contention: 64 writers without a pause, 8 readers 5 times a second: all get on") {
  check_that_all_get_on({64, 8, milliseconds(30'000), milliseconds(0), kPolling});
}
TEST_CASE("contention: 64 writers every 250 ms, 8 readers without a pause: all get on") {
  check_that_all_get_on({64, 8, milliseconds(30'000), milliseconds(250), milliseconds(0)});
}
TEST_CASE("contention: 64 writers and 8 readers, all without a pause: all get on") {
  check_that_all_get_on({64, 8, milliseconds(30'000), milliseconds(0), milliseconds(0)});
}

TEST_SUITE_END();
