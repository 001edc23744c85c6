#include "engine/cores.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <thread>

#include "support/rank_threads.h"

using namespace exprun;

namespace {

std::set<std::string> named(int first, int count) {
  std::set<std::string> names;
  for (int core = first; core < first + count; ++core) names.insert(std::to_string(core));
  return names;
}

std::vector<int> shares(const std::vector<Cores>& ranks) {
  std::vector<int> found(ranks.size());
  on_ranks(static_cast<int>(ranks.size()), [&](const auto& group, Rendezvous& rendezvous) {
    const auto rank = static_cast<size_t>(group->rank());
    found[rank] = share_of_cores(rendezvous, ranks[rank]);
  });
  return found;
}

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

TEST_CASE("cores: ranks that share a machine's cores divide them, never below one") {
  CHECK(shares({{"a", named(0, 8)}, {"a", named(0, 8)}}) == std::vector<int>{4, 4});
  CHECK(shares({{"a", named(0, 2)}, {"a", named(0, 2)}, {"a", named(0, 2)}}) ==
        std::vector<int>{1, 1, 1});
}

TEST_CASE("cores: ranks that their launcher has bound keep their own cores") {
  CHECK(shares({{"a", named(0, 4)}, {"a", named(4, 4)}}) == std::vector<int>{4, 4});
  CHECK(shares({{"a", named(0, 2)}, {"a", named(2, 6)}}) == std::vector<int>{2, 4});
}

TEST_CASE("cores: only ranks of one host share") {
  CHECK(shares({{"a", named(0, 4)}, {"b", named(0, 4)}, {"b", named(0, 4)}}) ==
        std::vector<int>{4, 2, 2});
}

TEST_CASE("cores: the limit of a control group is one for all its ranks") {
  CHECK(shares({{"a", named(0, 4), 4}, {"a", named(4, 4), 4}}) == std::vector<int>{2, 2});
  CHECK(Cores{"a", named(0, 8), 3}.count() == 3);
  CHECK(Cores{"a", named(0, 8), 0}.count() == 1);
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
