#include "control/data/known_data.h"

#include "control/data/fetch/catalogue.h"
#include "control/data/glob.h"

namespace exprun {
namespace {

// "*.txt" is anybody's: one of the names must say how it begins.
bool says_names(const std::string& pattern) {
  for (size_t at = 0; at != pattern.npos; at = pattern.find('/', at)) {
    if (pattern[at] == '/') ++at;
    if (at < pattern.size() && !is_glob(pattern.substr(at, 1))) return true;
  }
  return false;
}

std::optional<std::string> command_to_get(const CatalogueEntry& entry, const std::string& pattern) {
  for (const CatalogueFile& known : entry.files(entry.shards)) {
    const auto start = start_before(pattern, known.path);
    if (!start || is_glob(*start) || !says_names(pattern.substr(start->size()))) continue;
    const std::string folder = start->empty() ? "." : *start;
    return std::string("exprun data fetch ") + entry.name +
           (folder == "data/" ? "" : " --to '" + folder + "'");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> command_to_get(const std::string& pattern) {
  for (const CatalogueEntry& entry : catalogue())
    if (auto command = command_to_get(entry, pattern)) return command;
  return std::nullopt;
}

}  // namespace exprun
