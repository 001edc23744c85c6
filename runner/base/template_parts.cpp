#include "base/template_parts.h"

#include "base/diagnostic.h"

namespace exprun {

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
                    " begins no field; write {{ for a brace");
      if (!literal.empty()) parts.push_back({literal, ""});
      parts.push_back({"", text.substr(i + 1, end - i - 1)});
      literal.clear();
      i = end;
    } else if (c == '}') {
      throw Error("template: '}' at character " + std::to_string(i + 1) +
                  " ends no field; write }} for a brace");
    } else {
      literal += c;
    }
  }
  if (!literal.empty()) parts.push_back({literal, ""});
  return parts;
}

}  // namespace exprun
