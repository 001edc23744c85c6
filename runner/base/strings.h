// Words and sentences: trimmed text, lists, plurals, quotes for a shell, templates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// Without the spaces around it.
constexpr std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// "abc" of "ABC"; other letters than those of ASCII stay.
std::string lower_case(std::string_view text);

// Without line ends; the last line may have none.
std::vector<std::string> lines_of(std::string_view text);

// "a,b" in words; nothing is no word.
std::vector<std::string> words_of_list(const std::string& list);

std::string joined(const std::vector<std::string>& words, const char* separator = ", ");

// "a, b and 3 more", of which at most so many are named.
std::string some_of(std::vector<std::string> words, size_t most);

// "a, b or c"
std::string alternatives(const std::vector<std::string>& words);

// "a, b and c"
std::string listed(const std::vector<std::string>& words);

// "one core", "1,200 cores"; the plural of `noun` has an 's'.
std::string pluralize(int64_t count, const char* noun);

// As a shell reads it back: "a b" as "'a b'", and as it is where it means nothing to a shell.
std::string shell_quoted(const std::string& word);

// A template is text with {field} in it; {{ and }} are braces.
struct TemplatePart {
  std::string literal, field;  // one of them
};

// Throws Error for one whose braces make no fields.
std::vector<TemplatePart> template_parts(const std::string& text);

}  // namespace exprun
