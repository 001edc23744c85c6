// Byte-level BPE: GPT-2 and every tokenizer.json of its kind.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace exprun {

// Of a vocabulary's file or folder, which to_json names. Throws Error.
std::unique_ptr<Tokenizer> load_bpe_tokenizer(const std::filesystem::path& path);

// The tokens of words met before: most of a text is the same few thousand words. A fixed number of
// sets of two words, so that memory is bounded; where a set is one line of the processor's cache a
// look-up is one load.

// Of words of up to 8 * parts - 1 bytes that are at most so many tokens.
template <size_t parts, size_t most_tokens, size_t sets>
class WordCache {
 public:
  static constexpr size_t kReadBytes = 8 * parts;
  static constexpr size_t kMostBytes = kReadBytes - 1;
  static constexpr size_t kMostTokens = most_tokens;

  // The bytes of a word with zeros after it, its length in the last byte.
  using Key = std::array<uint64_t, parts>;

  struct Word {
    Key key{};  // of no word: lengths begin at 1
    uint32_t count = 0;
    uint32_t tokens[most_tokens];
  };

  WordCache() : sets_(sets) {}

  // Of a word of 1 to kMostBytes bytes, from whose first on kReadBytes may be read.
  static Key key_of(const char* word, size_t size) {
    Key key;
    std::memcpy(key.data(), word, kReadBytes);
    for (size_t part = 0; part < parts; ++part) key[part] &= bytes_in_part(size, part);
    key.back() |= uint64_t{size} << 56;
    return key;
  }

  // Null if it is not there. Valid until the next call.
  const Word* find(const Key& key) {
    Set& set = set_of(key);
    if (is_of(set.last, key)) return &set.last;
    if (!is_of(set.before, key)) return nullptr;
    std::swap(set.last, set.before);
    return &set.last;
  }

  // Of at most kMostTokens. Of the two words that were there the one that was met last stays.
  void keep(const Key& key, std::span<const uint32_t> tokens) {
    Set& set = set_of(key);
    set.before = set.last;
    set.last.key = key;
    set.last.count = static_cast<uint32_t>(tokens.size());
    std::copy(tokens.begin(), tokens.end(), set.last.tokens);
  }

 private:
  static constexpr size_t kCacheLine = 64;
  static_assert(std::has_single_bit(sets) && sets > 1);

  struct alignas(kCacheLine) Set {
    Word last, before;  // as they were met
  };

  // Those of the bytes 8 * part, 8 * part + 1, ... that a word of `size` bytes has, as a mask.
  static uint64_t bytes_in_part(size_t size, size_t part) {
    const size_t count = size > 8 * part ? size - 8 * part : 0;
    return count >= 8 ? UINT64_MAX : (uint64_t{1} << 8 * count) - 1;
  }

  static bool is_of(const Word& word, const Key& key) {
    uint64_t differs = 0;
    for (size_t part = 0; part < parts; ++part) differs |= word.key[part] ^ key[part];
    return differs == 0;
  }

  Set& set_of(const Key& key) {
    uint64_t mixed = 0;
    for (size_t part = 0; part < parts; ++part)
      mixed ^= std::rotl(key[part], static_cast<int>(23 * part));
    return sets_[(mixed * 0x9e3779b97f4a7c15) >> (64 - std::countr_zero(sets))];
  }

  std::vector<Set> sets_;
};

}  // namespace exprun
