// Tokens that a tokenizer.json adds to its model: they are looked for in the text before it is cut
// into words, as HuggingFace's tokenizers do: from left to right the longest that begins; those
// that are "normalized" only in what the others leave, which is brought into NFC first where the
// tokenizer does that. What looks like a special token is text, as
// with their encode_special_tokens; no other begins within it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace exprun {

struct AddedToken {
  std::string text;
  uint32_t id = 0;
  bool special = false, normalized = false;
};

class AddedTokens {
 public:
  AddedTokens(const std::vector<AddedToken>& tokens, bool composes);

  // Whether any text becomes one of them.
  bool any() const { return any_; }
  // Whether words are encoded as the text has them.
  bool leave_text() const { return !any_ && !composes_; }
  // Whether one may begin before `place` and end after it, whatever follows the text.
  bool may_cover(std::string_view text, size_t place) const;
  // Tokens of a text; `words` encodes what lies between.
  void encode(std::string_view text, Encoder& words, TokenSink& tokens) const;

 private:
  struct Match {
    size_t begin, end;
    const AddedToken* token;
  };
  // Long ones first. What all begin with tells most places apart at once.
  struct Group {
    std::string common;
    std::vector<AddedToken> tokens;
    void add(const AddedToken& token);
  };
  // Those that are looked for at the same time, by their first byte.
  struct Stage {
    std::array<Group, 256> by_byte;
    Match find(std::string_view text, size_t from) const;
  };

  template <class Use>
  static void split(const Stage& stage, std::string_view text, TokenSink& tokens, Use use);

  std::array<Stage, 2> stages_;
  size_t longest_ = 0;
  bool any_ = false, composes_;
};

// Around the encoder of words. `added` outlives it.
std::unique_ptr<Encoder> with_added_tokens(const AddedTokens& added,
                                           std::unique_ptr<Encoder> words);

}  // namespace exprun
