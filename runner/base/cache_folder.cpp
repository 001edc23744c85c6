#include "base/cache_folder.h"

#include <cstdlib>

namespace exprun {

namespace fs = std::filesystem;

std::optional<fs::path> cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return fs::path(cache) / "exprun";
  if (const char* const home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "exprun";
  return std::nullopt;
}

}  // namespace exprun
