#include "control/report/wrapped.h"

#include <algorithm>

namespace exprun {
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
