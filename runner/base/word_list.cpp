#include "base/word_list.h"

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

}  // namespace exprun
