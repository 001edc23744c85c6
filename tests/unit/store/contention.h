// Many processes that write to one store while others read it: a scene for the test of what must
// hold, and for the benchmark of how long a writer waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace exprun {

struct Contention {
  int writers, readers;
  std::chrono::milliseconds duration;
  std::chrono::milliseconds writers_pause;  // of each, between two batches of 100 rows
  std::chrono::milliseconds readers_pause;  // of each, between two looks at every series
};

struct ContentionResult {
  int64_t rows = 0;             // that writers were told to be safe
  int64_t rows_in_store = 0;    // afterwards
  int64_t rows_of_slowest = 0;  // of the writer with the fewest
  int64_t reads = 0;            // whole looks
  int64_t failed_processes = 0;
  int64_t largest_wal_bytes = 0;
  double mean_stall_ms = 0;  // from the end of a batch until it is safe
  double worst_stall_ms = 0;
  std::string integrity;  // "ok"
  std::string warnings;   // of any process: a writer turned away says so
};

ContentionResult contend(const Contention& how);

}  // namespace exprun
