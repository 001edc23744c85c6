#include "text/regex_dialect.h"

#include <algorithm>
#include <cctype>

namespace exprun {
namespace {

constexpr std::string_view kGroups[] = {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!"};
constexpr std::string_view kEscapes = "sSdDrntpP";
constexpr std::string_view kCategories = "CLMNPSZ";

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

class Scan {
 public:
  explicit Scan(std::string_view pattern) : rest_(pattern) {}

  std::string run() {
    while (!rest_.empty()) {
      const size_t size = in_class_ ? in_class() : outside();
      if (size == 0) return std::string(rest_.substr(0, shown_));
      rest_.remove_prefix(size);
    }
    return "";
  }

 private:
  // How long the known construct is with which the rest begins; 0 for none.
  size_t outside() {
    switch (rest_[0]) {
      case '\\':
        return escape();
      case '[':
        return class_begin();
      case '(':
        return group();
      case '{':
        return repetition();
      case '^':
      case '$':  // the ends of lines to one, of the text to the other
        return foreign(1);
      default:
        return 1;
    }
  }

  size_t class_begin() {
    const size_t size = rest_.starts_with("[^") ? 2 : 1;
    if (rest_.substr(size).starts_with("]")) return foreign(size + 1);  // the end to one of them
    in_class_ = true;
    return size;
  }

  size_t in_class() {
    if (rest_[0] == '\\') return rest_.starts_with("\\S") ? foreign(2) : escape();
    if (rest_.starts_with("&&")) return foreign(2);
    if (rest_.starts_with("[:")) return foreign(std::min(rest_.find(":]"), rest_.size() - 2) + 2);
    if (rest_[0] == '[') return foreign(1);
    if (rest_[0] == ']') in_class_ = false;
    return 1;
  }

  size_t escape() {
    if (rest_.size() < 2) return foreign(1);
    if (!is_word_character(rest_[1])) return 2;
    if (kEscapes.find(rest_[1]) == std::string_view::npos) return foreign(2);
    return rest_[1] == 'p' || rest_[1] == 'P' ? property() : 2;
  }

  // \p{L}, \p{Lu}: scripts are other sets to both.
  size_t property() {
    const size_t size = std::min(rest_.find('}'), rest_.size() - 1) + 1;
    const bool known = (size == 5 || size == 6) && rest_[2] == '{' &&
                       kCategories.find(rest_[3]) != std::string_view::npos &&
                       (size == 5 || std::islower(static_cast<unsigned char>(rest_[4])));
    return known ? size : foreign(size);
  }

  size_t group() {
    if (!rest_.starts_with("(?")) return 1;
    for (const std::string_view known : kGroups)
      if (rest_.starts_with(known)) return known.size();
    return foreign(3);
  }

  // {2}, {2,} and {2,3}, without what makes it lazy or possessive to one only.
  size_t repetition() {
    const size_t size = std::min(rest_.find('}'), rest_.size() - 1) + 1;
    const std::string_view inner = rest_.substr(1, size - 2);
    const bool counted = !inner.empty() && std::isdigit(static_cast<unsigned char>(inner[0])) &&
                         inner.find_first_not_of("0123456789,") == std::string_view::npos;
    if (!counted) return foreign(size);
    const bool marked = size < rest_.size() && (rest_[size] == '+' || rest_[size] == '?');
    return marked ? foreign(size + 1) : size;
  }

  size_t foreign(size_t shown) {
    shown_ = shown;
    return 0;
  }

  std::string_view rest_;
  bool in_class_ = false;
  size_t shown_ = 0;
};

}  // namespace

std::string foreign_construct(std::string_view pattern) {
  return Scan(pattern).run();
}

}  // namespace exprun
