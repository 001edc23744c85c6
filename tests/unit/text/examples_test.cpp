#include "text/examples.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/diagnostic.h"
#include "base/random.h"

using namespace exprun;

namespace {

std::vector<uint32_t> words(const std::vector<Segment>& segments) {
  std::vector<uint32_t> words;
  for (const Segment& segment : segments) words.push_back(to_word(segment));
  return words;
}

std::vector<int64_t> learned_of(const ExampleList& list, const Example& example) {
  std::vector<int64_t> places;
  list.for_each_learned(example, [&](int64_t place) { places.push_back(place); });
  return places;
}

std::vector<Example> examples_of(const std::vector<int64_t>& lengths) {
  std::vector<Example> examples;
  for (const int64_t length : lengths) examples.push_back({0, length, 1, 0});
  return examples;
}

}  // namespace

TEST_CASE("examples: a segment is its word") {
  for (const Segment& segment : {Segment{0, false, true}, Segment{5, true, false},
                                 Segment{kMostSegmentTokens - 1, true, true}})
    CHECK(segment_of(to_word(segment)) == segment);
  CHECK_THROWS_AS(to_word({kMostSegmentTokens, true, true}), std::logic_error);
}

TEST_CASE("examples: sequences are counted as they are packed, whatever the seed") {
  std::vector<Segment> segments;
  for (int64_t i = 0; i < 50; ++i)
    segments.insert(segments.end(), {{i % 7, false, false}, {i % 11 + 1, true, true}});
  int64_t tokens = 0;
  for (const Segment& segment : segments) tokens += segment.tokens;
  const PackedSequences sequences = sequences_of_examples(words(segments));
  for (const int64_t length : {1, 8, 12, 16, 64})
    for (const bool truncates : {false, true})
      for (const int64_t seed : {0, 1, 17}) {
        const ExampleList list(words(segments), tokens, length, truncates);
        CHECK(sequences(length, truncates) ==
              std::ssize(packed_examples(list.examples, length, seed)));
      }
}

TEST_CASE("examples: what is behind the last learned token is not computed") {
  const ExampleList list(words({{3, false, false},
                                {2, true, false},
                                {4, false, false},
                                {1, true, false},
                                {2, false, true},
                                {1, true, false},
                                {1, true, true}}),
                         14, 100, true);
  REQUIRE(list.examples.size() == 2);
  CHECK(list.examples[0].first_token == 0);
  CHECK(list.examples[0].tokens == 9);
  CHECK(list.examples[0].learned == 3);
  CHECK(learned_of(list, list.examples[0]) == std::vector<int64_t>{2, 3, 8});
  // Nothing predicts the first token of all.
  CHECK(list.examples[1].first_token == 12);
  CHECK(list.examples[1].tokens == 1);
  CHECK(list.examples[1].learned == 1);
  CHECK(learned_of(list, list.examples[1]) == std::vector<int64_t>{0});
  CHECK(list.truncated == 0);
  CHECK(list.all == 2);
}

TEST_CASE("examples: a longer one is truncated or dropped, one that learns nothing is dropped") {
  const auto all = words({{2, false, false},
                          {5, true, true},  // as long as fits, and one more
                          {4, false, false},
                          {1, true, true},  // fits to the token
                          {5, false, false},
                          {3, true, true},     // its response is cut away
                          {3, false, true}});  // has none
  const ExampleList truncated(all, 23, 4, true);
  REQUIRE(truncated.examples.size() == 2);
  CHECK(truncated.examples[0].tokens == 4);
  CHECK(learned_of(truncated, truncated.examples[0]) == std::vector<int64_t>{1, 2, 3});
  CHECK(truncated.examples[0].learned == 3);
  CHECK(truncated.examples[1].first_token == 7);
  CHECK(truncated.examples[1].tokens == 4);
  CHECK(truncated.truncated == 1);
  CHECK(truncated.all == 4);
  CHECK(truncated.empty == 1);
  const ExampleList dropped(all, 23, 4, false);
  REQUIRE(dropped.examples.size() == 1);
  CHECK(dropped.examples[0].first_token == 7);
  CHECK(dropped.truncated == 0);
}

TEST_CASE("examples: what is too long is told, with the lengths that hold it") {
  std::vector<Segment> segments;
  const auto add = [&](int count, int64_t given, int64_t learned) {
    for (int i = 0; i < count; ++i) {
      segments.push_back({given, false, false});
      segments.push_back({learned, true, true});
    }
  };
  add(90, 2, 2), add(8, 3, 8), add(2, 30, 1);
  const int64_t tokens = 90 * 4 + 8 * 11 + 2 * 31;
  const auto told = [&](int64_t most, bool truncates) {
    return remark_on(ExampleList(words(segments), tokens, most, truncates), 60);
  };
  const auto warned = [&](int64_t most, bool truncates) {
    const auto dropped = many_dropped(ExampleList(words(segments), tokens, most, truncates));
    return dropped ? dropped->message + "; " + dropped->help : "";
  };
  const std::string lengths = "; sequences of 10 tokens hold 95% of them whole, of 30 tokens all";
  CHECK(told(30, true) == "100 examples in 60 sequences");
  CHECK(told(8, true) ==
        "98 examples (8 truncated to 8 tokens) in 60 sequences; 2 examples dropped: no response "
        "within 8 tokens" +
            lengths);
  CHECK(told(8, false) ==
        "90 examples in 60 sequences; 10 examples dropped: longer than 8 tokens, or without a "
        "response" +
            lengths);
  CHECK(told(10, false).ends_with("; sequences of 30 tokens hold all of them whole"));
  CHECK(warned(8, true) == "");
  CHECK(warned(8, false) ==
        "10 of 100 examples are dropped: they do not fit into sequences of 8 tokens; longer ones "
        "keep them (batch.sequence_length, at most the model's context_length), or too_long = "
        "\"truncate\"");
}

TEST_CASE("examples: segments of other tokens are refused") {
  CHECK_THROWS_AS(ExampleList(words({{3, true, true}}), 4, 8, true), Error);
  CHECK_THROWS_AS(ExampleList(words({{3, true, true}, {1, true, false}}), 4, 8, true), Error);
}

TEST_CASE("examples: every one is in one pack, none is fuller than allowed, most are full") {
  std::vector<int64_t> lengths;
  int64_t tokens = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    lengths.push_back(static_cast<int64_t>(random_below(i % 7 == 0 ? 512 : 90, {i})) + 1);
    tokens += lengths.back();
  }
  const auto packs = packed_examples(examples_of(lengths), 512, 3);
  std::multiset<size_t> seen;
  for (const auto& pack : packs) {
    int64_t length = 0;
    for (const size_t index : pack) {
      length += lengths[index];
      seen.insert(index);
    }
    CHECK(length <= 512);
  }
  CHECK(seen.size() == lengths.size());
  CHECK(std::set<size_t>(seen.begin(), seen.end()).size() == lengths.size());
  CHECK(static_cast<double>(tokens) > 0.99 * 512 * static_cast<double>(packs.size() - 1));
  CHECK(packed_examples(examples_of(lengths), 512, 3) == packs);
  CHECK(packed_examples(examples_of(lengths), 512, 4) != packs);
}
