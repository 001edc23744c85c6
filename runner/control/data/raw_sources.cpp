#include "control/data/raw_sources.h"

#include "control/data/split_sources.h"

namespace exprun {

std::vector<RawSource> raw_sources(const Table& dataset, const std::string& libtorch) {
  SplitSources found =
      find_split_sources(*dataset.find("path"), dataset.find("validation"), libtorch);
  std::vector<RawSource> sources;
  for (Source& source : found.train) sources.push_back({std::move(source), Part::train});
  for (Source& source : found.validation) sources.push_back({std::move(source), Part::validation});
  return sources;
}

}  // namespace exprun
