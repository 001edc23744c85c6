#include "base/machine/processor.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <thread>

using namespace exprun;

namespace {

// On a thread, as processes inherit it.
Cores cores_bound_to(int cpu) {
  Cores cores;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    cores = own_cores();
  }).join();
  return cores;
}

}  // namespace

TEST_CASE("cores: the limit of a control group counts, and one is always there") {
  const std::set<std::string> eight{"0", "1", "2", "3", "4", "5", "6", "7"};
  CHECK(Cores{"a", eight}.count() == 8);
  CHECK(Cores{"a", eight, 3}.count() == 3);
  CHECK(Cores{"a", eight, 0}.count() == 1);
}

TEST_CASE("cores: a process that is bound to one core has one") {
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const Cores bound = cores_bound_to(cpu);
    CHECK(bound.count() == 1);
    CHECK(bound.host == own_cores().host);
    CHECK(own_cores().names.contains(*bound.names.begin()));
  }
}
