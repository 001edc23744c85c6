#include "base/files/cache_folder.h"

#include <chrono>
#include <cstdlib>
#include <system_error>

#include "base/files/file.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kDay{24}, kMonth{30 * 24};

bool is_older(const fs::path& file, std::chrono::hours age) {
  std::error_code error;
  const auto changed = fs::last_write_time(file, error);
  return !error && fs::file_time_type::clock::now() - changed > age;
}

}  // namespace

std::optional<fs::path> cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return fs::path(cache) / "exprun";
  if (const char* const home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "exprun";
  return std::nullopt;
}

void mark_used(const fs::path& file) {
  std::error_code ignored;
  if (is_older(file, kDay)) fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

void remove_unused(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_regular_file(ignored) &&
        is_older(entry.path(), is_temporary(entry.path()) ? kDay : kMonth))
      fs::remove(entry.path(), ignored);
}

}  // namespace exprun
