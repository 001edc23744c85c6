// What standard output and standard error are connected to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/terminal/terminal.h"

namespace exprun {

// Characters in a line of the terminal at standard output; 0 if it is none.
size_t terminal_width();

// Whether standard output is a terminal that wants colors.
bool stdout_wants_color();

// To standard output. A write that fails is seen by main when it ends.
void print(std::string_view text);

// The same of a text that anybody may have written. At a terminal its control characters, but for
// line ends and tabs, become U+FFFD.
void print_foreign(std::string_view text);

// A name, where a line has one: with a line end, say, as JSON writes it.
std::string in_one_line(const std::string& name);

}  // namespace exprun
