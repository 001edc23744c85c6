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
  // Of a token beside the model, which may have another of the same bytes: find() does not know it.
  // Behind all merges.
  void add_apart(std::string bytes, uint64_t id);
  // A merge of the next rank; throws Error if it is of unknown tokens.
  void add_merge(std::string_view left, std::string_view right);
  // nothing if no token has these bytes
  std::optional<uint32_t> find(std::string_view bytes) const;

  // "tokenizer: 'vocab.bpe' line 7 is ..."
  Error error(const std::string& problem) const;

 private:
  // Short bytes are their own key, of longer ones it is a hash.
  struct Slot {
    uint64_t key;
    uint32_t id;
  };

  // Where the bytes of a new id belong.
  std::string& bytes_of(uint64_t id, const std::string& bytes);
  // Of the token, or the free one where it belongs.
  size_t slot_of(std::string_view bytes, uint64_t key) const;
  std::optional<uint32_t> find_merged(std::string_view left, std::string_view right) const;
  void grow();

  BpeVocabulary& vocabulary_;
  std::filesystem::path file_;
  // Open addressing by the bytes, at most half full: a vocabulary is read with every command that
  // needs one, and takes 200,000 look-ups.
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace exprun
