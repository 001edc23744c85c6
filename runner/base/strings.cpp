#include "base/strings.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/format_units.h"

namespace exprun {
namespace {

std::string in_a_row(std::vector<std::string> words, const char* before_last) {
  if (words.size() < 2) return joined(words);
  const std::string last = before_last + words.back();
  words.pop_back();
  return joined(words) + last;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string letters(text);
  for (char& c : letters)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return letters;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string> words_of_list(const std::string& list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : separator) + words[i];
  return text;
}

std::string some_of(std::vector<std::string> words, size_t most) {
  if (words.size() <= most) return joined(words);
  const std::string more = " and " + std::to_string(words.size() - most) + " more";
  words.resize(most);
  return joined(words) + more;
}

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
