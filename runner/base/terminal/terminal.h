// What people look at: whether a stream is a terminal, how wide it is, whether it shows colors, and
// text that is fitted to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// Columns of the terminal at this descriptor; 0 if it is none. One that does not know has 80.
size_t columns_of(int fd);

// Whether it is a terminal that may show colors: NO_COLOR is empty, and TERM is neither empty nor
// "dumb".
bool wants_color(int fd);

enum class Ink { plain, bold, red, green, yellow, blue, magenta, cyan };

// The text between the terminal's codes for this color; as it is where `color` is false.
std::string inked(std::string_view text, Ink ink, bool color);

// Columns that it takes; codes of colors take none.
size_t shown_width(std::string_view text);

// As much of the beginning as fits into so many columns.
std::string clipped(std::string_view text, size_t columns);

// The same, with "…" in place of its end where something is cut off.
std::string shortened(std::string_view text, size_t columns);

// Broken between words so that no line is wider than `width` columns where its words allow it.
// Lines after the first begin with `indent` spaces; the first begins in column `column`.
std::string wrapped(std::string_view text, size_t indent = 0, size_t column = 0, size_t width = 80);

// The same of a text that has lines: each begins where it did, and goes on `indent` spaces further.
std::string wrapped_lines(std::string_view text, size_t indent, size_t column, size_t width);

// A curve in one line, one character for each value: "█▅▃▂▁"; '×' is a value that is not finite.
std::string sparkline(const std::vector<double>& values);

}  // namespace exprun
