#include "control/sweep/run/slots.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/support/temporary_folder.h"

using namespace exprun;

namespace {

const SlotMachine kEightThreads{{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, {}};
const SlotMachine kFourGpus{{{0}, {1}, {2}, {3}}, {"GPU-a", "GPU-b", "GPU-c", "GPU-d"}};
using Cpus = std::vector<int>;
using Gpus = std::vector<std::string>;

}  // namespace

TEST_CASE("slots: one trial at a time has the whole machine") {
  const TemporaryFolder folder;
  Slots slots(kEightThreads, 1, folder.path() / "lock");
  const auto slot = slots.take(0);
  REQUIRE(slot);
  CHECK(slot->cpus.empty());
  CHECK(!slots.take(0));
  slots.give_back(*slot);
  CHECK(slots.take(0));
}

TEST_CASE("slots: several trials have cores of their own, with both of their threads") {
  const TemporaryFolder folder;
  Slots slots(kEightThreads, 2, folder.path() / "lock");
  const auto a = slots.take(0), b = slots.take(0);
  REQUIRE((a && b));
  CHECK(a->cpus == Cpus{0, 4, 1, 5});
  CHECK(b->cpus == Cpus{2, 6, 3, 7});
  CHECK(!slots.take(0));
  slots.give_back(*a);
  CHECK(slots.take(0)->cpus == a->cpus);
}

TEST_CASE("slots: more trials than cores share them evenly") {
  const TemporaryFolder folder;
  Slots slots(kEightThreads, 8, folder.path() / "lock");
  std::multiset<int> first_cpus;
  for (int i = 0; i < 8; ++i) first_cpus.insert(slots.take(0).value().cpus.at(0));
  CHECK(first_cpus == std::multiset<int>{0, 0, 1, 1, 2, 2, 3, 3});
}

TEST_CASE("slots: two sweeps take different cores while there are any") {
  const TemporaryFolder folder;
  Slots one(kEightThreads, 4, folder.path() / "lock"),
      other(kEightThreads, 4, folder.path() / "lock");
  const auto a = one.take(0), b = other.take(0);
  REQUIRE((a && b));
  CHECK(a->cpus == Cpus{0, 4});
  CHECK(b->cpus == Cpus{1, 5});
  one.give_back(*a);
  CHECK(other.take(0)->cpus == Cpus{0, 4});
}

TEST_CASE("slots: a trial of two ranks takes two GPUs, which no other sweep gets") {
  const TemporaryFolder folder;
  Slots one(kFourGpus, 4, folder.path() / "lock"), other(kFourGpus, 4, folder.path() / "lock");
  const auto a = one.take(2), b = other.take(1);
  REQUIRE((a && b));
  CHECK(a->gpus == Gpus{"GPU-a", "GPU-b"});
  CHECK(b->gpus == Gpus{"GPU-c"});
  CHECK(!one.take(2));
  CHECK(one.take(1)->gpus == Gpus{"GPU-d"});
  other.give_back(*b);
  CHECK(other.take(1)->gpus == Gpus{"GPU-c"});
}

TEST_CASE("slots: a trial with more threads than its share has cores takes the room of several") {
  const TemporaryFolder folder;
  Slots slots(kEightThreads, 4, folder.path() / "lock");
  const auto small = slots.take(0), large = slots.take(0, 3);
  REQUIRE((small && large));
  CHECK(small->cpus == Cpus{0, 4});
  CHECK(large->cpus == Cpus{1, 5, 2, 6, 3, 7});
  CHECK(!slots.take(0));
  slots.give_back(*small);
  CHECK(!slots.take(0, 2));
  CHECK(slots.take(0)->cpus == small->cpus);
  slots.give_back(*large);
  CHECK(slots.take(0, 2)->cpus == Cpus{1, 5, 2, 6});
}

TEST_CASE("slots: of more threads than there are cores a trial gets all cores") {
  const TemporaryFolder folder;
  Slots slots(kEightThreads, 8, folder.path() / "lock");
  const auto slot = slots.take(0, 100);
  REQUIRE(slot);
  CHECK(slot->cpus.size() == 8);
  CHECK(slots.take(0));
}
