#include "control/data/raw_sources.h"

#include "base/diagnostic.h"

namespace exprun {

std::vector<RawSource> raw_sources(const Table& dataset, const std::string& libtorch) {
  std::vector<RawSource> sources;
  Diagnostics problems;
  const auto add = [&](const char* key, Part part) {
    const Value* paths = dataset.find(key);
    if (!paths) return;
    try {
      for (Source& source : find_sources(*paths, libtorch))
        sources.push_back({std::move(source), part});
    } catch (const RecipeError& error) {
      problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  };
  add("path", Part::train);
  add("validation", Part::validation);
  if (!problems.empty()) throw RecipeError(std::move(problems));
  return sources;
}

}  // namespace exprun
