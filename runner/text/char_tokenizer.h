// One token a character (code point), numbered in the order of the code points that a text has
// (nanoGPT's shakespeare_char: 65 symbols).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace exprun {

// The characters that a text has, met piece by piece.
class CharacterSet {
 public:
  CharacterSet();

  // Of whole characters: a piece ends at none's middle. Throws Error on invalid UTF-8.
  void add(std::string_view text);
  void add(const CharacterSet& other);
  std::u32string sorted() const;

 private:
  std::vector<bool> met_;  // by code point
};

// Why a text cannot be encoded: "'☃' (U+2603) is not one of the 59 characters that ...".
std::string unknown_character(char32_t character, size_t known);

// For the file of an evaluation with a character that the tokenizer of the model lacks.
inline constexpr const char* kHelpWithUnknownCharacter =
    "replace it in the file, or train a new model whose tokenizer has it: \"byte\" has every "
    "character, \"char\" those of the dataset";

// Token i is table[i]. Throws Error on a character that is there twice, or more than 65,536 of
// them.
std::unique_ptr<Tokenizer> make_char_tokenizer(std::u32string table);

}  // namespace exprun
