// Byte pair encoding of one word: of all neighbours that can merge, those of the lowest rank do,
// the leftmost of equals first, until none can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/bpe/bpe_vocabulary.h"
#include "text/bpe/merge_table.h"
#include "text/tokenizer.h"

namespace exprun {

// `tokens` begins as one token a byte. Of a short word all pairs are looked at for each merge,
// which is fastest for few; a long one keeps them in a heap, so that a megabyte of spaces takes n
// log n.
void merge_word(const MergeTable& table, std::vector<uint32_t>& tokens);

// A word of any length, mostly in memory for a piece of it: a strand of DNA, a line of one
// character.

// Pieces are merged for themselves, and joined where the tokens beside the joint stay as they are
// when both are merged together. Where that is true of all neighbours, they are the tokens of the
// whole word: the first merge across a joint would be the first one across it for its two
// neighbours alone, since what goes before lies within tokens and goes in the same order.
class LongWord {
 public:
  static constexpr size_t kPieceBytes = 4096;

  // `unsure`: so many tokens at the end of a piece are merged again with what follows, which may
  // change them.
  explicit LongWord(const BpeTables& tables, size_t piece_bytes = kPieceBytes, size_t unsure = 16)
      : tables_(tables), piece_bytes_(piece_bytes), unsure_(unsure) {}

  // Appends its tokens.
  void encode(std::string_view word, Tokens& tokens);

 private:
  void merge(std::string_view bytes, Tokens& tokens) const;
  bool fits_behind(uint32_t left, uint32_t right);
  // Returns how many bytes they were.
  size_t take_back(Tokens& tokens, size_t count) const;

  const BpeTables& tables_;
  size_t piece_bytes_, unsure_;
  Tokens piece_, pair_;
};

}  // namespace exprun
