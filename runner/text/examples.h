// Examples among the tokens of a split: where each begins, which of its tokens are learned, and
// which examples are computed together. Its tokens lie in token shards; beside them a file of
// uint32 has a word for each segment of an example, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dataset_info.h"
#include "base/diagnostic.h"
#include "text/sample_order.h"
#include "text/token_shard.h"

namespace exprun {

// Neighbouring tokens of an example that are all learned, or all given.
struct Segment {
  int64_t tokens = 0;         // below kMostSegmentTokens
  bool is_learned = false;    // each of them is predicted: it belongs to a response
  bool ends_example = false;  // the last of its example

  bool operator==(const Segment&) const = default;
};

inline constexpr int64_t kMostSegmentTokens = int64_t{1} << 30;

// How a segment is written: tokens * 4 + 2 * is_learned + ends_example.
uint32_t to_word(const Segment& segment);
Segment segment_of(uint32_t word);

// An example as it is trained on: `tokens` inputs, of which each predicts the token after it.
// What stands after the last learned token is left out, since it would be computed in vain.
struct Example {
  int64_t first_token = 0;
  int64_t tokens = 0;        // inputs; one token more is read
  int64_t learned = 0;       // targets that count
  size_t first_segment = 0;  // in ExampleList::segments
};

// The examples of a split, of at most `most_tokens` inputs. A longer one is truncated, or dropped;
// one without a learned token is dropped.
struct ExampleList {
  std::vector<Segment> segments;
  std::vector<Example> examples;
  int64_t all = 0;        // those that were dropped included
  int64_t truncated = 0;  // so many of `examples` are without their ends
  int64_t empty = 0;      // so many have no learned token at all
  int64_t most_tokens = 0;
  bool truncates = false;

  // Throws Error where the words do not describe `tokens` tokens.
  ExampleList(const std::vector<uint32_t>& words, int64_t tokens, int64_t most_tokens,
              bool truncates);

  // Calls `mark(place)` for each target of the example that counts, from 0.
  template <class Mark>
  void for_each_learned(const Example& example, const Mark& mark) const {
    int64_t place = 0;  // of the segment's first token; target i is token i + 1
    for (size_t i = example.first_segment; place <= example.tokens; place += segments[i++].tokens)
      if (segments[i].is_learned)
        for (int64_t at = place; at < place + segments[i].tokens && at <= example.tokens; ++at)
          if (at > 0) mark(at - 1);
  }
};

// Examples that are computed together: a sample. Best fit, the longest first (Johnson 1973): no
// pack has more than `most_tokens` inputs, and each example is in one. A pure function of the
// lengths and the seed, which decides among examples of equal length.
std::vector<std::vector<size_t>> packed_examples(const std::vector<Example>& examples,
                                                 int64_t most_tokens, int64_t seed);

// What a run says of its examples at its start, and `check` where they are prepared.

// "1,000 examples (3 truncated to 128 tokens) in 52 sequences; one example dropped: ...", and the
// lengths of sequences that would hold those that are too long.
std::string remark_on(const ExampleList& list, size_t sequences);

// That many are dropped because they are too long, without a place; nothing where few are.
std::optional<Diagnostic> many_dropped(const ExampleList& list);

// Packs as blocks of one, which are shuffled each epoch.
inline SampleSpace space_of_packs(size_t packs) {
  return {static_cast<int64_t>(packs), 1, /*separate=*/true};
}

// What the words of a split's segments tell of its examples.
ExampleLengths lengths_of_examples(const std::vector<uint32_t>& words);
// As packed_examples() packs them, whatever the seed. Throws Error for words that end within an
// example.
PackedSequences sequences_of_examples(std::vector<uint32_t> words);

// Adds both of the splits, by the words of their segments. How many sequences there are is not told
// where there are none, or the words are damaged.
void add_examples(DatasetInfo& info, std::vector<uint32_t> train,
                  const std::vector<uint32_t>& validation);

// The words of a file of segments. Throws Error.
std::vector<uint32_t> read_segment_words(const std::vector<TokenShard>& shards);

}  // namespace exprun
