#include "control/launch/plan_cache.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/hash.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return fs::path(cache) / "exprun" / "plans";
  if (const char* const home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "exprun" / "plans";
  return std::nullopt;
}

std::string state_of(const fs::path& program) {
  std::error_code ignored;
  const auto changed = fs::last_write_time(program, ignored).time_since_epoch().count();
  return std::to_string(fs::file_size(program, ignored)) + ':' + std::to_string(changed);
}

}  // namespace

PlanCache::PlanCache(const fs::path& program, const std::string& question) {
  if (const auto folder = cache_folder())
    file_ = *folder / (hash_hex(state_of(program) + '\n' + question) + ".json");
}

std::optional<std::string> PlanCache::find() const {
  std::ifstream stream(file_);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf()) || !nlohmann::json::accept(text.str())) return {};
  return text.str();
}

void PlanCache::keep(const std::string& plan) const {
  if (file_.empty()) return;
  std::error_code error;
  fs::create_directories(file_.parent_path(), error);
  const std::string temporary = file_.string() + ".tmp-" + std::to_string(::getpid());
  std::ofstream stream(temporary);
  stream << plan;
  stream.close();
  if (stream) fs::rename(temporary, file_, error);
}

}  // namespace exprun
