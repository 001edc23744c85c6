// What standard output and standard error are connected to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace exprun {

// Characters in a line of the terminal at standard output; 0 if it is none.
size_t terminal_width();

// Whether standard output is a terminal that wants colours (NO_COLOR, TERM=dumb).
bool wants_colours();

// To standard output. A write that fails is seen by main when it ends.
void print(std::string_view text);

// The same of a text that anybody may have written. At a terminal its control characters, but for
// line ends and tabs, become U+FFFD.
void print_foreign(std::string_view text);

// A name, where a line has one: with a line end, say, as JSON writes it.
std::string in_one_line(const std::string& name);

// Text in lines of a terminal's usual width.

// Broken between words so that no line is longer than 80 characters where its words allow it. Lines
// behind the first begin with `indent` spaces; the first begins in column `column`.
std::string wrapped(const std::string& text, size_t indent = 0, size_t column = 0);

}  // namespace exprun
