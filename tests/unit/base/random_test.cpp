#include "base/random.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

using namespace exprun;

TEST_CASE("random: values never change, because runs rely on them") {
  CHECK(random_bits({0}) == 0xe220a8397b1dcdaf);  // SplitMix64's first output for seed 0
  CHECK(random_bits({1, 2}) == random_bits({1, 2}));
  CHECK(random_bits({1, 2}) != random_bits({2, 1}));
  CHECK(random_bits({1}) != random_bits({1, 0}));
}

TEST_CASE("random: a change of one bit of the key changes half of the bits") {
  double changed = 0;
  for (uint64_t i = 0; i < 1000; ++i)
    changed += std::popcount(random_bits({7, i}) ^ random_bits({7, i ^ 1}));
  CHECK(changed / 1000 == doctest::Approx(32).epsilon(0.02));
}

TEST_CASE("random: below a bound is uniform and stays below") {
  constexpr int kDraws = 70000;
  std::vector<int> counts(7);
  for (uint64_t i = 0; i < kDraws; ++i) ++counts.at(random_below(7, {3, i}));
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - kDraws / 7.0, 2) / (kDraws / 7.0);
  CHECK(chi_square < 22.5);  // 6 degrees of freedom: exceeded once in a thousand
  CHECK(random_below(1, {5}) == 0);
}

TEST_CASE("random: names are words") {
  std::set<uint64_t> words;
  for (const char* name : {"", "a", "b", "ab", "ba", "blocks.0", "blocks.1"})
    words.insert(random_word(name));
  CHECK(words.size() == 7);
}
