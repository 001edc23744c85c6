// Headers of TOML: [table] and [[element]].
#pragma once

#include <optional>
#include <string_view>

#include "base/diagnostic.h"

namespace exprun {

bool is_header(std::string_view line);

// What to say of a header that would make a table of what is none; nothing if no value is in its
// way. `stopped` is where toml++ refused it: there, or behind its line, which is the first column
// of the next.
std::optional<Diagnostic> explain_obstacle(const SourceSpan& stopped);

}  // namespace exprun
