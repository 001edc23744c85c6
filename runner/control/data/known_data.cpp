#include "control/data/known_data.h"

#include "control/data/catalogue.h"

namespace exprun {

std::optional<std::string> command_to_get(const std::filesystem::path& file) {
  const std::string text = file.generic_string();
  for (const CatalogueEntry& entry : catalogue())
    for (const CatalogueFile& known : entry.files(entry.shards)) {
      if (!text.ends_with(known.path)) continue;
      std::string folder = text.substr(0, text.size() - known.path.size());
      if (!folder.empty() && !folder.ends_with('/')) continue;
      if (folder.empty()) folder = ".";
      return std::string("exprun data fetch ") + entry.name +
             (folder == "data/" ? "" : " --to '" + folder + "'");
    }
  return std::nullopt;
}

}  // namespace exprun
