#include "control/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/utf8.h"

namespace exprun {

size_t terminal_width() {
  winsize size{};
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool wants_colours() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  if (!terminal || std::string_view(terminal) == "dumb") return false;
  return isatty(STDOUT_FILENO);
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_foreign(std::string_view text) {
  isatty(STDOUT_FILENO) ? print(without_controls(text)) : print(text);
}

std::string in_one_line(const std::string& name) {
  const auto points = code_points(name);
  const bool has_control = std::any_of(points.begin(), points.end(),
                                       [](const CodePoint& c) { return is_control(c.value); });
  if (!has_control) return name;
  return without_controls(json_text(nlohmann::json(name), -1, NotUtf8::replaced));
}

namespace {

constexpr size_t kTextWidth = 80;

}  // namespace

std::string wrapped(const std::string& text, size_t indent, size_t column) {
  std::string out;
  bool line_begins = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t size = end - begin;
    if (!line_begins && column + 1 + size > kTextWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      line_begins = true;
    }
    if (!line_begins) out += ' ';
    out += text.substr(begin, size);
    column += size + (line_begins ? 0 : 1);
    line_begins = false;
    begin = end + 1;
  }
  return out;
}

}  // namespace exprun
