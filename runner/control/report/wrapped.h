// Text in lines of a terminal's usual width.
#pragma once

#include <cstddef>
#include <string>

namespace exprun {

// Broken between words so that no line is longer than 80 characters where its words allow it. Lines
// behind the first begin with `indent` spaces; the first begins in column `column`.
std::string wrapped(const std::string& text, size_t indent = 0, size_t column = 0);

}  // namespace exprun
