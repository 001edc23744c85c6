#include "base/process/periodic_thread.h"

#include <doctest/doctest.h>

#include <atomic>

using namespace exprun;
using namespace std::chrono_literals;

TEST_CASE("periodic thread: at once, again and again, and a last time") {
  std::atomic<int> calls{0};
  {
    const PeriodicThread thread(1ms, [&] { ++calls; });
    while (calls < 5) std::this_thread::yield();
  }
  CHECK(calls >= 6);
}

TEST_CASE("periodic thread: its end does not wait for a period, however long") {
  std::atomic<int> calls{0};
  {
    const PeriodicThread thread(std::chrono::duration<double>(1e300), [&] { ++calls; });
  }
  CHECK(calls == 2);
}
