#include "text/unicode/unicode_classes.h"

#include <algorithm>

#include "base/utf8.h"

namespace exprun {
namespace {

// Static memory is zero and so `other`, and takes no page where nothing else is.
struct Classes {
  static_assert(CharClass::other == CharClass{});
  CharClass of[kCodePoints];

  Classes() {
    for (const CharRange& range : char_ranges())
      std::fill(of + range.first, of + range.last + 1, range.kind);
  }
};

}  // namespace

std::span<const CharClass> char_classes() {
  static const Classes classes;
  return classes.of;
}

}  // namespace exprun
