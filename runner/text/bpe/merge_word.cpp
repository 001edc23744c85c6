#include "text/bpe/merge_word.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

namespace exprun {
namespace {

constexpr size_t kMostShort = 64;  // tokens
constexpr uint32_t kNowhere = UINT32_MAX;

using Rank = MergeTable::Rank;

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
      const auto [rank, place] = heap_.top();
      heap_.pop();
      if (pairs_[place] == rank) merge_at(place);  // else the pair is no longer there
    }
    compact();
  }

 private:
  using Candidate = std::pair<Rank, uint32_t>;

  void look_up(uint32_t place) {
    pairs_[place] = next_[place] == kNowhere ? MergeTable::kNone
                                             : table_.find(tokens_[place], tokens_[next_[place]]);
    if (pairs_[place] != MergeTable::kNone) heap_.push({pairs_[place], place});
  }

  void merge_at(uint32_t place) {
    const uint32_t right = next_[place];
    tokens_[place] = table_.token_of(pairs_[place]);
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
  std::vector<Rank> pairs_;
  std::vector<uint32_t> next_, previous_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap_;
};

// A word whose tokens stay where they are: one that is merged into the one before it is no longer
// used.
class ShortWord {
 public:
  // Of 2 to kMostShort tokens.
  ShortWord(const MergeTable& table, std::vector<uint32_t>& tokens)
      : table_(table),
        tokens_(tokens.data()),
        used_(~uint64_t{0} >> (kMostShort - tokens.size())),
        blocks_((tokens.size() + kBlock - 2) / kBlock) {
    const size_t last = tokens.size() - 1;
    for (size_t i = 0; i < last; ++i) look_up(i, i + 1);
    for (size_t i = last; i < blocks_ * kBlock; ++i) pairs_[i] = kNoPair;
  }

  // Returns how many tokens are left, the first ones then.
  size_t merge_all() {
    for (int32_t pair = first_pair(); pair < kNoPair; pair = first_pair()) {
      const auto place = static_cast<size_t>(pair) % kMostShort;
      const size_t right = next(place);
      tokens_[place] = table_.token_of(static_cast<Rank>(pair) / kMostShort);
      used_ &= ~(uint64_t{1} << right);
      pairs_[right] = pairs_[place] = kNoPair;
      if (used_ >> place > 1) look_up(place, next(place));
      if (const uint64_t before = used_ & ((uint64_t{1} << place) - 1))
        look_up(static_cast<size_t>(std::bit_width(before)) - 1, place);
    }
    size_t count = 0;
    for (; used_ != 0; used_ &= used_ - 1)
      tokens_[count++] = tokens_[static_cast<size_t>(std::countr_zero(used_))];
    return count;
  }

 private:
  static constexpr size_t kBlock = 8;  // pairs that a compiler makes a vector of
  static constexpr int32_t kNoPair = MergeTable::kNone * kMostShort;

  // After `place`, where one is.
  size_t next(size_t place) const {
    return place + 1 + static_cast<size_t>(std::countr_zero(used_ >> (place + 1)));
  }

  void look_up(size_t place, size_t right) {
    pairs_[place] =
        static_cast<int32_t>(table_.find(tokens_[place], tokens_[right]) * kMostShort + place);
  }

  int32_t first_pair() const {
    int32_t least[kBlock];
    std::copy_n(pairs_, kBlock, least);
    for (size_t block = 1; block < blocks_; ++block)
      for (size_t i = 0; i < kBlock; ++i) least[i] = std::min(least[i], pairs_[block * kBlock + i]);
    return *std::min_element(least, least + kBlock);
  }

  const MergeTable& table_;
  uint32_t* tokens_;
  uint64_t used_;  // a bit each
  size_t blocks_;
  // Of each token with the next one: rank and place, so that the least is the first to merge.
  int32_t pairs_[kMostShort];
};

}  // namespace

void merge_word(const MergeTable& table, std::vector<uint32_t>& tokens) {
  if (tokens.size() < 2) return;
  if (tokens.size() <= kMostShort)
    tokens.resize(ShortWord(table, tokens).merge_all());
  else
    LinkedWord(table, tokens).merge_all();
}

void LongWord::encode(std::string_view word, Tokens& tokens) {
  const size_t first = tokens.size();
  size_t done = 0, farthest = 0;         // bytes
  size_t size = piece_bytes_, back = 1;  // of the next piece; tokens to take back where it fits not
  while (done < word.size()) {
    const std::string_view bytes = word.substr(done, size);
    merge(bytes, piece_);
    if (tokens.size() > first && !fits_behind(tokens.back(), piece_.front())) {
      done -= take_back(tokens, std::min(back, tokens.size() - first));
      size *= 2;
      back *= 2;
      continue;
    }
    tokens.insert(tokens.end(), piece_.begin(), piece_.end());
    done += bytes.size();
    if (done == word.size()) return;
    done -= take_back(tokens, std::min(unsure_, piece_.size() / 2));
    if (done <= farthest) {  // else it could come back here again and again
      size *= 2;
      continue;
    }
    farthest = done;
    size = piece_bytes_;
    back = 1;
  }
}

void LongWord::merge(std::string_view bytes, Tokens& tokens) const {
  tokens.clear();
  for (const char byte : bytes)
    tokens.push_back(tables_.byte_tokens[static_cast<unsigned char>(byte)]);
  merge_word(tables_.merges, tokens);
}

bool LongWord::fits_behind(uint32_t left, uint32_t right) {
  merge(std::string(tables_.tokens[left]).append(tables_.tokens[right]), pair_);
  return pair_ == Tokens{left, right};
}

size_t LongWord::take_back(Tokens& tokens, size_t count) const {
  size_t bytes = 0;
  for (; count > 0; --count) {
    bytes += tables_.tokens[tokens.back()].size();
    tokens.pop_back();
  }
  return bytes;
}

}  // namespace exprun
