// A text without the spaces around it.
#pragma once

#include <string_view>

namespace exprun {

constexpr std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace exprun
