// The files that a key of a recipe names: a path, a glob or an array of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/source_file.h"
#include "recipe/value.h"

namespace exprun {

struct Source {
  std::filesystem::path file;
  SourceSpan where;  // of the path or glob that named it
  bool by_glob = false;
};

// In the order written, the matches of a glob sorted, without those that another entry names: a
// file comes twice only where it is written twice. Throws one RecipeError for everything that is
// missing or is no file, each at its place, with what to do.
std::vector<Source> find_sources(const Value& paths, const std::string& libtorch_folder);

// The one regular file that a path names: no pattern, no standard input. Throws RecipeError.
std::filesystem::path find_file(const Value& path, const std::string& libtorch_folder);

}  // namespace exprun
