#include "text/unicode_classes.h"

#include <algorithm>

#include "base/utf8.h"

namespace exprun {
namespace {

std::vector<CharClass> filled() {
  std::vector<CharClass> classes(kCodePoints, CharClass::other);
  for (const CharRange& range : char_ranges())
    std::fill(classes.begin() + range.first, classes.begin() + range.last + 1, range.kind);
  return classes;
}

}  // namespace

const std::vector<CharClass>& char_classes() {
  static const std::vector<CharClass> classes = filled();
  return classes;
}

}  // namespace exprun
