// The tokens of words met before: most of a text is the same few thousand words. A fixed number of
// lines of one cache line each, a word in one of two neighbours, so that memory is bounded and a
// look-up is one load, mostly. Words of more than 23 bytes or 9 tokens are not kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace exprun {

// How many of the bytes 8 * part, 8 * part + 1, ... a word of `size` bytes has, as a mask.
constexpr uint64_t bytes_in_part(size_t size, size_t part) {
  const size_t count = size > 8 * part ? size - 8 * part : 0;
  return count >= 8 ? UINT64_MAX : (uint64_t{1} << 8 * count) - 1;
}

class WordCache {
 public:
  static constexpr size_t kMostBytes = 23;
  static constexpr size_t kMostTokens = 9;
  static constexpr size_t kReadBytes = 24;

  // The bytes of a word with zeros behind, its length in the last byte.
  struct Key {
    uint64_t a, b, c;
    bool operator==(const Key& other) const {
      return ((a ^ other.a) | (b ^ other.b) | (c ^ other.c)) == 0;
    }
  };

  struct alignas(64) Line {
    Key key{0, 0, 0};  // of no word: lengths begin at 1
    uint32_t tokens[kMostTokens];
    uint32_t count = 0;
  };

  WordCache() : lines_(size_t{1} << kBits) {}

  // Of a word of 1 to 23 bytes, from whose first on kReadBytes may be read.
  static Key key_of(const char* word, size_t size) {
    uint64_t parts[3];
    static_assert(sizeof parts == kReadBytes);
    std::memcpy(parts, word, sizeof parts);
    return {parts[0] & bytes_in_part(size, 0), parts[1] & bytes_in_part(size, 1),
            (parts[2] & bytes_in_part(size, 2)) | uint64_t{size} << 56};
  }

  // Where the word is, or null.
  const Line* find(const Key& key) const {
    const Line* pair = &lines_[place(key)];
    if (pair[0].key == key) return pair;
    return pair[1].key == key ? pair + 1 : nullptr;
  }

  // Of at most kMostTokens. Of the two that were there the older goes.
  const Line& keep(const Key& key, std::span<const uint32_t> tokens) {
    Line* pair = &lines_[place(key)];
    pair[1] = pair[0];
    pair->key = key;
    pair->count = static_cast<uint32_t>(tokens.size());
    std::copy(tokens.begin(), tokens.end(), pair->tokens);
    return *pair;
  }

 private:
  static constexpr int kBits = 15;  // 2 MiB

  // The first of two lines, which are all that a word may be in.
  static size_t place(const Key& key) {
    const uint64_t mixed = key.a ^ (key.b << 23 | key.b >> 41) ^ (key.c << 47 | key.c >> 17);
    return (mixed * 0x9e3779b97f4a7c15) >> (65 - kBits) << 1;
  }

  std::vector<Line> lines_;
};

}  // namespace exprun
