#include "engine/attempt/rank_attempt.h"

#include <doctest/doctest.h>

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
    found[rank] = share_of_cores(rendezvous, ranks[rank]).cores;
  });
  return found;
}

}  // namespace

TEST_CASE("core share: ranks that share a machine's cores divide them, never below one") {
  CHECK(shares({{"a", named(0, 8)}, {"a", named(0, 8)}}) == std::vector<int>{4, 4});
  CHECK(shares({{"a", named(0, 2)}, {"a", named(0, 2)}, {"a", named(0, 2)}}) ==
        std::vector<int>{1, 1, 1});
}

TEST_CASE("core share: ranks that their launcher has bound keep their own cores") {
  CHECK(shares({{"a", named(0, 4)}, {"a", named(4, 4)}}) == std::vector<int>{4, 4});
  CHECK(shares({{"a", named(0, 2)}, {"a", named(2, 6)}}) == std::vector<int>{2, 4});
}

TEST_CASE("core share: only ranks of one host share") {
  CHECK(shares({{"a", named(0, 4)}, {"b", named(0, 4)}, {"b", named(0, 4)}}) ==
        std::vector<int>{4, 2, 2});
}

TEST_CASE("core share: the limit of a control group is one for all its ranks") {
  CHECK(shares({{"a", named(0, 4), 4}, {"a", named(4, 4), 4}}) == std::vector<int>{2, 2});
}

TEST_CASE("core share: it says on how many machines the ranks are") {
  const std::vector<Cores> ranks{{"a", named(0, 4)}, {"b", named(0, 4)}, {"b", named(0, 4)}};
  on_ranks(3, [&](const auto& group, Rendezvous& rendezvous) {
    CHECK(share_of_cores(rendezvous, ranks[static_cast<size_t>(group->rank())]).machines == 2);
  });
}
