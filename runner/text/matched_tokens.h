// Tokens of two vocabularies that stand for the same text: what a model has learned of one token
// belongs to that text, whatever number it has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
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

// What is known of the tokens that weights were trained with, beside ours.
struct TokenMatch {
  std::optional<MatchedTokens> matched = {};  // nothing: tokens keep their numbers
  std::string unknown = {};  // why it is not known which tokens theirs are; empty where it is
};

// `weights`: a checkpoint of a run, a HuggingFace folder, or a file in one of them.
TokenMatch match_tokens(const std::filesystem::path& weights, const Tokenizer& ours);

// The same `unknown`, whatever ours are.
std::string why_tokens_are_unknown(const std::filesystem::path& weights);

}  // namespace exprun
