#include "text/examples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/files/file.h"
#include "base/format_units.h"
#include "base/random.h"
#include "base/strings.h"

namespace exprun {
namespace {

Error damaged(const std::string& what) {
  return Error("prepared data: the segments of the examples " + what +
               "; move the data away and run the recipe again");
}

}  // namespace

uint32_t to_word(const Segment& segment) {
  if (segment.tokens < 0 || segment.tokens >= kMostSegmentTokens)
    throw std::logic_error("examples: a segment of that many tokens has no word");
  return static_cast<uint32_t>(segment.tokens) * 4 + (segment.is_learned ? 2 : 0) +
         (segment.ends_example ? 1 : 0);
}

Segment segment_of(uint32_t word) {
  return {word / 4, (word & 2) != 0, (word & 1) != 0};
}

ExampleList::ExampleList(const std::vector<uint32_t>& words, int64_t tokens, int64_t most,
                         bool truncates_longer)
    : most_tokens(most), truncates(truncates_longer) {
  segments.reserve(words.size());
  int64_t place = 0, begin = 0, learned_end = 0, learned = 0;
  size_t first_segment = 0;
  for (const uint32_t word : words) {
    const Segment segment = segment_of(word);
    segments.push_back(segment);
    const int64_t last = std::min(place + segment.tokens, begin + most_tokens + 1);
    if (segment.is_learned && last > place) {
      learned += last - std::max(place, begin + 1);  // nothing predicts the first token of all
      learned_end = last;
    }
    place += segment.tokens;
    if (!segment.ends_example) continue;
    const bool is_longer = place - begin > most_tokens + 1;
    ++all;
    empty += learned <= 0 && !is_longer;
    if (learned > 0 && (!is_longer || truncates)) {
      examples.push_back({begin, learned_end - begin - 1, learned, first_segment});
      truncated += is_longer;
    }
    begin = place;
    learned = 0;
    first_segment = segments.size();
  }
  if (place != tokens)
    throw damaged("describe " + std::to_string(place) + " tokens, but there are " +
                  std::to_string(tokens));
  if (begin != place) throw damaged("end within an example");
}

std::vector<std::vector<size_t>> packed_examples(const std::vector<Example>& examples,
                                                 int64_t most_tokens, int64_t seed) {
  static const uint64_t kStream = random_word("packed_examples");
  struct Placed {
    int64_t tokens;
    uint64_t tie;
    size_t index;
  };
  std::vector<Placed> order;
  for (size_t i = 0; i < examples.size(); ++i)
    order.push_back(
        {examples[i].tokens, random_bits({kStream, static_cast<uint64_t>(seed), i}), i});
  std::sort(order.begin(), order.end(), [](const Placed& a, const Placed& b) {
    return a.tokens != b.tokens ? a.tokens > b.tokens
                                : std::pair(a.tie, a.index) < std::pair(b.tie, b.index);
  });
  std::vector<std::vector<size_t>> packs;
  std::set<std::pair<int64_t, size_t>> room;  // left in each pack
  for (const Placed& next : order) {
    const auto best = room.lower_bound({next.tokens, 0});
    const size_t pack = best == room.end() ? packs.size() : best->second;
    const int64_t left = (best == room.end() ? most_tokens : best->first) - next.tokens;
    if (left < 0) throw std::logic_error("examples: one is longer than a pack");
    if (best == room.end())
      packs.emplace_back();
    else
      room.erase(best);
    packs[pack].push_back(next.index);
    if (left > 0) room.emplace(left, pack);
  }
  return packs;
}

namespace {

// The least length of sequences, in inputs, that holds such a share of all examples whole.
int64_t length_that_holds(double share, const ExampleList& list) {
  std::vector<int64_t> lengths;
  int64_t tokens = 0;
  for (const Segment& segment : list.segments) {
    tokens += segment.tokens;
    if (!segment.ends_example) continue;
    lengths.push_back(tokens - 1);  // the last is no input
    tokens = 0;
  }
  std::sort(lengths.begin(), lengths.end());
  const double count = std::ceil(share * static_cast<double>(lengths.size()));
  return lengths[static_cast<size_t>(count) - 1];
}

int64_t dropped_from(const ExampleList& list) {
  return list.all - static_cast<int64_t>(list.examples.size());
}

std::string lengths_that_hold(const ExampleList& list) {
  const int64_t most = length_that_holds(0.95, list), all = length_that_holds(1, list);
  const std::string all_tokens = with_thousands(all) + " tokens";
  if (most <= list.most_tokens || most == all)
    return "sequences of " + all_tokens + " hold all of them whole";
  return "sequences of " + with_thousands(most) + " tokens hold 95% of them whole, of " +
         all_tokens + " all";
}

}  // namespace

std::string remark_on(const ExampleList& list, size_t sequences) {
  const std::string within = std::to_string(list.most_tokens) + " tokens";
  std::string text = pluralize(static_cast<int64_t>(list.examples.size()), "example");
  if (list.truncated > 0)
    text += " (" + with_thousands(list.truncated) + " truncated to " + within + ")";
  text += " in " + pluralize(static_cast<int64_t>(sequences), "sequence");
  const int64_t dropped = dropped_from(list);
  if (dropped > 0)
    text += "; " + pluralize(dropped, "example") + " dropped: " +
            (list.truncates ? "no response within " + within
                            : "longer than " + within + ", or without a response");
  if (list.truncated > 0 || dropped > list.empty) text += "; " + lengths_that_hold(list);
  return text;
}

std::optional<Diagnostic> many_dropped(const ExampleList& list) {
  constexpr int64_t kFew = 20;  // one in so many may be dropped without a word
  const int64_t dropped = dropped_from(list) - list.empty;
  if (dropped * kFew <= list.all) return std::nullopt;
  return Diagnostic{{},
                    with_thousands(dropped) + " of " + pluralize(list.all, "example") +
                        " are dropped: they do not fit into sequences of " +
                        std::to_string(list.most_tokens) + " tokens",
                    "longer ones keep them (batch.sequence_length, at most the model's "
                    "context_length)" +
                        std::string(list.truncates ? "" : ", or too_long = \"truncate\""),
                    {},
                    Severity::warning};
}

ExampleLengths lengths_of_examples(const std::vector<uint32_t>& words) {
  ExampleLengths lengths;
  const auto keep_least = [](std::optional<int64_t>& least, int64_t tokens) {
    least = std::min(least.value_or(tokens), tokens);
  };
  int64_t tokens = 0, given = 0;  // of the example; those before its response
  bool is_learned = false;
  for (const uint32_t word : words) {
    const Segment segment = segment_of(word);
    is_learned = is_learned || (segment.is_learned && segment.tokens > 0);
    if (!is_learned) given += segment.tokens;
    tokens += segment.tokens;
    if (!segment.ends_example) continue;
    if (is_learned && tokens > 1) {  // the last token is no input
      keep_least(lengths.shortest, tokens - 1);
      keep_least(lengths.shortest_beginning, std::max<int64_t>(given, 1));
      lengths.longest = std::max(lengths.longest.value_or(0), tokens - 1);
    }
    tokens = given = 0;
    is_learned = false;
  }
  return lengths;
}

PackedSequences sequences_of_examples(std::vector<uint32_t> words) {
  int64_t tokens = 0;
  for (const uint32_t word : words) tokens += segment_of(word).tokens;
  struct Known {  // a recipe asks several times
    std::mutex mutex;
    std::map<std::pair<int64_t, bool>, int64_t> counts;
  };
  const auto known = std::make_shared<Known>();
  return PackedSequences([known, tokens, words = std::move(words)](int64_t length, bool truncates) {
    const std::lock_guard<std::mutex> lock(known->mutex);
    const std::pair asked(length, truncates);
    if (const auto found = known->counts.find(asked); found != known->counts.end())
      return found->second;
    const ExampleList list(words, tokens, length, truncates);
    const auto count = std::ssize(packed_examples(list.examples, length, 0));
    return known->counts[asked] = count;
  });
}

void add_examples(DatasetInfo& info, std::vector<uint32_t> train,
                  const std::vector<uint32_t>& validation) {
  info.train_examples = lengths_of_examples(train);
  info.validation_examples = lengths_of_examples(validation);
  const bool are_whole = !train.empty() && segment_of(train.back()).ends_example;
  if (are_whole) info.train_sequences = sequences_of_examples(std::move(train));
}

std::vector<uint32_t> read_segment_words(const std::vector<TokenShard>& shards) {
  std::vector<uint32_t> words;
  for (const TokenShard& shard : shards) {
    const MappedFile file(shard.path);
    if (shard.token_bytes != sizeof(uint32_t) ||
        static_cast<int64_t>(file.bytes().size()) != shard.file_bytes())
      throw damaged("in '" + shard.path + "' are not as they were prepared");
    const size_t before = words.size();
    words.resize(before + static_cast<size_t>(shard.tokens));
    std::memcpy(words.data() + before, file.bytes().data() + shard.first_byte,
                static_cast<size_t>(shard.tokens) * sizeof(uint32_t));
  }
  return words;
}

}  // namespace exprun
