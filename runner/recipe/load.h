// The files of a recipe as trees: parsed, `extends` and `version` taken out, not yet merged.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "recipe/recipe_text.h"
#include "recipe/value.h"

namespace exprun {

inline constexpr int kDeepestExtends = 3;

// Of the language. Within a version no default changes and no key loses its meaning.
inline constexpr int64_t kRecipeVersion = 1;

struct LoadedFile {
  Table root;                // without the keys `extends` and `version`
  SourceSpan extends_where;  // of its value; no place if the file has no parent
  std::string extends;       // as written; empty if the file has no parent
};

// Nothing, and the reason in `diagnostics`, if the file is no TOML or its `extends` no text. A
// version that is not ours is reported, and the rest read all the same.
std::optional<LoadedFile> load_file(const std::shared_ptr<const SourceFile>& file,
                                    Diagnostics& diagnostics);

}  // namespace exprun
