#include "base/strings.h"

#include "base/diagnostic.h"
#include "base/format_units.h"

namespace exprun {
namespace {

std::string in_a_row(const std::vector<std::string>& words, const char* before_last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? before_last : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace

std::string alternatives(const std::vector<std::string>& words) {
  return in_a_row(words, " or ");
}

std::string listed(const std::vector<std::string>& words) {
  return in_a_row(words, " and ");
}

std::string pluralize(int64_t count, const char* noun) {
  return count == 1 ? std::string("one ") + noun : with_thousands(count) + ' ' + noun + 's';
}

std::string shell_quoted(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_of(" \t\n\"'`$\\*?[]{}()<>|&;!#~") == word.npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<TemplatePart> template_parts(const std::string& text) {
  std::vector<TemplatePart> parts;
  std::string literal;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool doubled = i + 1 < text.size() && text[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      literal += c;
      ++i;
    } else if (c == '{') {
      const size_t end = text.find('}', i);
      if (end == std::string::npos || end == i + 1)
        throw Error("template: '{' at character " + std::to_string(i + 1) +
                    " does not begin a field; write {{ for a literal {");
      if (!literal.empty()) parts.push_back({literal, ""});
      parts.push_back({"", text.substr(i + 1, end - i - 1)});
      literal.clear();
      i = end;
    } else if (c == '}') {
      throw Error("template: '}' at character " + std::to_string(i + 1) +
                  " does not end a field; write }} for a literal }");
    } else {
      literal += c;
    }
  }
  if (!literal.empty()) parts.push_back({literal, ""});
  return parts;
}

}  // namespace exprun
