// Ids by the bytes of their tokens, while a vocabulary is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/diagnostic.h"
#include "text/bpe_vocabulary.h"

namespace exprun {

class TokenIds {
 public:
  TokenIds(BpeVocabulary& vocabulary, std::filesystem::path file);

  // Throws Error for an id that another token has, or that is absurdly large.
  void add(std::string bytes, uint64_t id);
  // A merge of the next rank; throws Error if it is of unknown tokens.
  void add_merge(const std::string& left, const std::string& right);
  // null if no token has these bytes
  const uint32_t* find(const std::string& bytes) const;

  // "tokenizer: 'vocab.bpe' line 7 is ..."
  Error error(const std::string& problem) const;

 private:
  BpeVocabulary& vocabulary_;
  std::filesystem::path file_;
  std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace exprun
