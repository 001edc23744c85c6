#include "base/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"

namespace exprun {
namespace {

constexpr size_t kUsualColumns = 80;
constexpr char kEscape = '\x1b';
constexpr const char* kPlain = "\x1b[0m";

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::bold:
      return "\x1b[1m";
    case Ink::red:
      return "\x1b[1;31m";
    case Ink::green:
      return "\x1b[32m";
    case Ink::yellow:
      return "\x1b[1;33m";
    case Ink::blue:
      return "\x1b[34m";
    case Ink::magenta:
      return "\x1b[35m";
    case Ink::cyan:
      return "\x1b[36m";
    case Ink::plain:
      break;
  }
  return "";
}

}  // namespace

size_t columns_of(int fd) {
  winsize size{};
  if (::isatty(fd) != 1) return 0;
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

bool wants_color(int fd) {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  if (no_color && *no_color) return false;
  if (!terminal || !*terminal || std::string_view(terminal) == "dumb") return false;
  return ::isatty(fd) == 1;
}

std::string inked(std::string_view text, Ink ink, bool color) {
  if (!color || ink == Ink::plain) return std::string(text);
  return code_of(ink) + std::string(text) + kPlain;
}

size_t shown_width(std::string_view text) {
  bool in_code = false;
  size_t width = 0;
  for (const CodePoint& c : code_points(text)) {
    if (in_code || c.value == kEscape)
      in_code = c.value != 'm';
    else
      width += static_cast<size_t>(display_width(c.value));
  }
  return width;
}

std::string clipped(std::string_view text, size_t columns) {
  std::string shown;
  bool in_code = false, has_codes = false;
  size_t used = 0;
  for (const CodePoint& c : code_points(text)) {
    has_codes |= c.value == kEscape;
    if (in_code || c.value == kEscape) {
      in_code = c.value != 'm';
    } else {
      used += static_cast<size_t>(display_width(c.value));
      if (used > columns) return shown + (has_codes ? kPlain : "");
    }
    shown += c.bytes;
  }
  return shown;
}

std::string shortened(std::string_view text, size_t columns) {
  if (shown_width(text) <= columns) return std::string(text);
  return columns == 0 ? "" : clipped(text, columns - 1) + "…";
}

std::string wrapped(std::string_view text, size_t indent, size_t column, size_t width) {
  std::string out;
  bool line_begins = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const size_t size = display_width(word);
    if (!line_begins && column + 1 + size > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      line_begins = true;
    }
    if (!line_begins) out += ' ';
    out += word;
    column += size + (line_begins ? 0 : 1);
    line_begins = false;
    begin = end + 1;
  }
  return out;
}

std::string wrapped_lines(std::string_view text, size_t indent, size_t column, size_t width) {
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    if (begin > 0) out += '\n';
    out += line.substr(0, blanks);
    out += wrapped(line.substr(blanks), blanks + indent, column + blanks, width);
    column = 0;
    begin = end + 1;
  }
  return out;
}

std::string sparkline(const std::vector<double>& values) {
  constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr int kSteps = 7, kMiddle = 3;
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string line;
  for (const double value : values) {
    // Halves, because the difference of two large values may not be finite.
    const double height = (value / 2 - least / 2) / (most / 2 - least / 2);
    if (!std::isfinite(value))
      line += "×";
    else
      line += kBars[most > least ? static_cast<int>(std::lround(height * kSteps)) : kMiddle];
  }
  return line;
}

}  // namespace exprun
