// How long 64 processes that write to one store wait for it, while 8 others read. Prints; asserts
// nothing (tests/unit/store/contention_test.cpp does).
//
//   store_contention [SECONDS]     of each scene; default: 10
#include <cstdio>
#include <cstdlib>

#include "tests/unit/store/contention.h"

using namespace exprun;
using std::chrono::milliseconds;

namespace {

struct Scene {
  const char* name;
  milliseconds writers_pause, readers_pause;
};

// Those of training are the first: a run writes every 250 ms, `ls` and whoever watches come again.
constexpr Scene kScenes[] = {
    {"100 rows each 250 ms, readers 5 times a second", milliseconds(250), milliseconds(200)},
    {"100 rows each 250 ms, readers without a pause", milliseconds(250), milliseconds(0)},
    {"rows without a pause, readers 5 times a second", milliseconds(0), milliseconds(200)},
    {"rows without a pause, readers without a pause", milliseconds(0), milliseconds(0)}};

}  // namespace

int main(int argc, char** argv) {
  const milliseconds duration(argc > 1 ? 1000 * std::atoi(argv[1]) : 10'000);
  std::printf("%-48s%12s%12s%10s%9s%10s%9s\n", "64 writers, 8 readers", "mean stall", "worst",
              "rows/s", "reads/s", "WAL", "lost");
  for (const Scene& scene : kScenes) {
    const auto result = contend({64, 8, duration, scene.writers_pause, scene.readers_pause});
    const double seconds = 1e-3 * static_cast<double>(duration.count());
    std::printf("%-48s%9.1f ms%9.0f ms%10.0f%9.1f%6.1f MiB%9lld\n", scene.name,
                result.mean_stall_ms, result.worst_stall_ms,
                static_cast<double>(result.rows) / seconds,
                static_cast<double>(result.reads) / seconds,
                static_cast<double>(result.largest_wal_bytes) / (1 << 20),
                static_cast<long long>(result.rows - result.rows_in_store));
    std::fputs(result.warnings.c_str(), stderr);
    std::fflush(stdout);
  }
  return 0;
}
