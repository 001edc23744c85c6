#include "text/merge_word.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace exprun {
namespace {

constexpr size_t kMostShort = 64;  // tokens
constexpr uint32_t kNowhere = UINT32_MAX;

using Merged = MergeTable::Merged;

// A word as a list of tokens with links, and a heap of the pairs that can merge.
class LinkedWord {
 public:
  LinkedWord(const MergeTable& table, std::vector<uint32_t>& tokens)
      : table_(table), tokens_(tokens), pairs_(tokens.size(), MergeTable::kNone) {
    const auto size = static_cast<uint32_t>(tokens.size());
    next_.resize(size);
    previous_.resize(size);
    for (uint32_t i = 0; i < size; ++i) {
      next_[i] = i + 1 < size ? i + 1 : kNowhere;
      previous_[i] = i > 0 ? i - 1 : kNowhere;
    }
    for (uint32_t i = 0; i + 1 < size; ++i) look_up(i);
  }

  void merge_all() {
    while (!heap_.empty()) {
      const auto [merged, place] = heap_.top();
      heap_.pop();
      if (pairs_[place] == merged) merge_at(place);  // else the pair is no longer there
    }
    compact();
  }

 private:
  using Candidate = std::pair<Merged, uint32_t>;

  void look_up(uint32_t place) {
    pairs_[place] = next_[place] == kNowhere ? MergeTable::kNone
                                             : table_.find(tokens_[place], tokens_[next_[place]]);
    if (pairs_[place] != MergeTable::kNone) heap_.push({pairs_[place], place});
  }

  void merge_at(uint32_t place) {
    const uint32_t right = next_[place];
    tokens_[place] = MergeTable::token_of(pairs_[place]);
    pairs_[right] = MergeTable::kNone;
    next_[place] = next_[right];
    if (next_[place] != kNowhere) previous_[next_[place]] = place;
    look_up(place);
    if (previous_[place] != kNowhere) look_up(previous_[place]);
  }

  void compact() {
    size_t count = 0;
    for (uint32_t i = 0; i != kNowhere; i = next_[i]) tokens_[count++] = tokens_[i];
    tokens_.resize(count);
  }

  const MergeTable& table_;
  std::vector<uint32_t>& tokens_;
  std::vector<Merged> pairs_;
  std::vector<uint32_t> next_, previous_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap_;
};

}  // namespace

void WordMerger::merge(std::vector<uint32_t>& tokens) {
  if (tokens.size() < 2) return;
  if (tokens.size() <= kMostShort)
    merge_short(tokens);
  else
    LinkedWord(table_, tokens).merge_all();
}

void WordMerger::merge_short(std::vector<uint32_t>& tokens) {
  pairs_.resize(tokens.size() - 1);
  for (size_t i = 0; i < pairs_.size(); ++i) pairs_[i] = table_.find(tokens[i], tokens[i + 1]);
  while (!pairs_.empty()) {
    const auto best = std::min_element(pairs_.begin(), pairs_.end());
    if (*best == MergeTable::kNone) return;
    const auto place = static_cast<size_t>(best - pairs_.begin());
    tokens[place] = MergeTable::token_of(*best);
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(place) + 1);
    pairs_.erase(best);
    if (place < pairs_.size()) pairs_[place] = table_.find(tokens[place], tokens[place + 1]);
    if (place > 0) pairs_[place - 1] = table_.find(tokens[place - 1], tokens[place]);
  }
}

}  // namespace exprun
