#include "recipe/toml_depth.h"

#include <algorithm>
#include <string>

namespace exprun {
namespace {

bool may_be_in_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == ' ' || c == '\t';
}

// The last character of the quoted text that begins at `at`; of its line if it has no end.
size_t last_of_quoted(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  if (text.substr(at, 3) == three) {
    const size_t close = text.find(three, at + 3);
    return close == text.npos ? text.size() : close + 2;
  }
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at)
    if (text[at] == '\\' && quote == '"') ++at;
  return at;
}

}  // namespace

std::optional<size_t> find_long_key(std::string_view text) {
  size_t begin = 0, parts = 1;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = last_of_quoted(text, at);
    } else if (c == '.') {
      if (++parts > kMostKeyParts) return begin;
    } else if (!may_be_in_key(c)) {
      if (c == '#') at = std::min(text.find('\n', at), text.size());
      begin = at + 1;
      parts = 1;
    }
  }
  return std::nullopt;
}

}  // namespace exprun
