#include "control/report/standard_output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/utf8.h"

namespace exprun {

size_t terminal_width() {
  winsize size{};
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool stdout_wants_color() {
  return wants_color(STDOUT_FILENO);
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

}  // namespace exprun
