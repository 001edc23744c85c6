// Tokens of two vocabularies that stand for the same text: what a model has learned of one token
// belongs to that text, whatever number it has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "text/tokenizer.h"

namespace exprun {

struct MatchedTokens {
  static constexpr int64_t kNone = -1;

  std::vector<int64_t> theirs;  // by our tokens: their token with the same text, or kNone
  int64_t their_vocab_size = 0;

  int64_t matched() const;
};

// Nothing where all their tokens have the same numbers here. A text that several of their tokens
// stand for is matched only where the numbers are the same.
std::optional<MatchedTokens> matched_tokens(const Tokenizer& theirs, const Tokenizer& ours);

// The same for the tokens that `weights` (a checkpoint of a run, a HuggingFace folder, or a file in
// one of them) were trained with; nothing where it is not known which these are.
std::optional<MatchedTokens> tokens_matched_with_weights(const std::filesystem::path& weights,
                                                         const Tokenizer& ours);

// Whether it is known which tokens these were.
bool knows_tokens(const std::filesystem::path& weights);

}  // namespace exprun
