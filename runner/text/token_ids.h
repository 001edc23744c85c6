// Ids by the bytes of their tokens, while a vocabulary is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "text/bpe_vocabulary.h"

namespace exprun {

class TokenIds {
 public:
  TokenIds(BpeVocabulary& vocabulary, std::filesystem::path file);

  // Throws Error for an id that another token has, or that is absurdly large.
  void add(std::string bytes, uint64_t id);
  // A merge of the next rank; throws Error if it is of unknown tokens.
  void add_merge(std::string_view left, std::string_view right);
  // nothing if no token has these bytes
  std::optional<uint32_t> find(std::string_view bytes) const;

  // "tokenizer: 'vocab.bpe' line 7 is ..."
  Error error(const std::string& problem) const;

 private:
  // A part of the hash tells most tokens that are not the one wanted, without a look at their
  // bytes.
  struct Slot {
    uint32_t mark, id;
  };

  // Of the token, or the free one where it belongs.
  size_t slot_of(std::string_view bytes, uint64_t hash) const;
  void grow();

  BpeVocabulary& vocabulary_;
  std::filesystem::path file_;
  // Open addressing by the bytes, at most half full: a vocabulary is read with every command that
  // needs one, and takes 200,000 look-ups.
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace exprun
