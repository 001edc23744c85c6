// The tokenizer of a known table of characters; make_char_tokenizer (tokenizer.h) takes the table
// from a text.
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace exprun {

// Token i is table[i]. Throws Error on a character that is there twice, or more than 65,536 of
// them.
std::unique_ptr<Tokenizer> make_char_tokenizer_of(std::u32string table);

}  // namespace exprun
