// A template: text with {field} in it; {{ and }} are braces.
#pragma once

#include <string>
#include <vector>

namespace exprun {

struct TemplatePart {
  std::string literal, field;  // one of them
};

// Throws Error for one whose braces make no fields.
std::vector<TemplatePart> template_parts(const std::string& text);

}  // namespace exprun
