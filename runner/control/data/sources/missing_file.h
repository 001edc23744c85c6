// What to write instead of a path that names no file.
#pragma once

#include <filesystem>
#include <string>

#include "base/diagnostic.h"

namespace exprun {

// Of a file that does not exist: where it is, how to get it, what its name is like, or the working
// directory, below which a relative path is looked for.
std::string advice_on_file(const std::filesystem::path& file, const SourceSpan& where);

// The same of a pattern that no file matches. A name that holds a bracket is a pattern, of which
// the file itself is no match.
std::string advice_on_pattern(const std::string& pattern, const SourceSpan& where);

}  // namespace exprun
