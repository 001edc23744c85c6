// Ids by the bytes of their tokens, while a vocabulary is read: tokens are added, then indexed,
// then found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "text/bpe/bpe_vocabulary.h"

namespace exprun {

class TokenIds {
 public:
  TokenIds(BpeVocabulary& vocabulary, std::filesystem::path file);

  // Throws Error for an id that another token has, or that is absurdly large.
  void add(std::string_view bytes, uint64_t id);
  // What was added is what find() knows; a token that comes later may have the bytes of another.
  // Throws Error for a token that was added twice.
  void index();
  // Of the tokens that are indexed. Throws Error that names `file` for a merge of others,
  // and for more than kMostMerges.
  void add_merges(const MergeSides& merges, const std::filesystem::path& file);
  // nothing if no token has these bytes
  std::optional<uint32_t> find(std::string_view bytes) const;

  // "tokenizer: 'encoder.json' has the id 7 twice; ..."
  Error error(const std::string& problem) const;
  Error error_in_line(size_t number) const;

 private:
  // Short bytes are their own key, of longer ones it is a hash.
  struct Slot {
    uint64_t key;
    uint32_t id;
  };

  struct Merge {
    std::string_view left, right, both;
    uint64_t left_key, right_key;
  };

  // Where a look-up begins.
  size_t home_of(uint64_t key) const;
  // Memory answers the look-ups of a block at once rather than one after the other.
  void prefetch(uint64_t key) const { __builtin_prefetch(&slots_[home_of(key)]); }
  // Of the token, or the free one where it belongs.
  size_t slot_of(std::string_view bytes, uint64_t key) const;
  void index(uint32_t id, uint64_t key);
  // False where one of the three is unknown.
  bool add_merge(const Merge& merge);
  std::optional<uint32_t> find(std::string_view bytes, uint64_t key) const;
  std::optional<uint32_t> find_merged(std::string_view bytes) const;

  BpeVocabulary& vocabulary_;
  std::filesystem::path file_;
  size_t added_ = 0;
  // Open addressing by the bytes, at most half full: a vocabulary is read with every command that
  // needs one, and takes 150,000 look-ups.
  std::vector<Slot> slots_;  // never none
};

}  // namespace exprun
