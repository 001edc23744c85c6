// Patterns of a tokenizer.json are written for Oniguruma, and matched here by PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace exprun {

// The first construct that is not known to mean the same to both ("\h", "[:space:]"); empty if
// there is none.
std::string foreign_construct(std::string_view pattern);

}  // namespace exprun
