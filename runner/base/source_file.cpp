#include "base/source_file.h"

#include <algorithm>
#include <string_view>

#include "base/utf8.h"

namespace exprun {

SourceSpan span_of(const std::shared_ptr<const SourceFile>& file, size_t begin, size_t size) {
  const std::string_view text = file->text;
  const std::string_view before = text.substr(0, begin);
  const auto line = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto column = static_cast<uint32_t>(code_points(before.substr(line_start)).size() + 1);
  const auto length = static_cast<uint32_t>(code_points(text.substr(begin, size)).size());
  return {file, line, column, std::max<uint32_t>(length, 1)};
}

}  // namespace exprun
