#include "control/launch/plan_cache.h"

#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files/cache_folder.h"
#include "base/files/file.h"
#include "base/hash.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

std::string state_of(const fs::path& program) {
  std::error_code ignored;
  const auto changed = fs::last_write_time(program, ignored).time_since_epoch().count();
  return std::to_string(fs::file_size(program, ignored)) + ':' + std::to_string(changed);
}

}  // namespace

PlanCache::PlanCache(const fs::path& program, const std::string& question) {
  if (const auto folder = cache_folder())
    file_ = *folder / "plans" / (hash_hex(state_of(program) + '\n' + question) + ".json");
}

std::optional<std::string> PlanCache::find() const {
  std::ifstream stream(file_);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf()) || !nlohmann::json::accept(text.str())) return {};
  mark_used(file_);
  return text.str();
}

void PlanCache::keep(const std::string& plan) const {
  if (file_.empty()) return;
  try {
    fs::create_directories(file_.parent_path());
    write_file_atomically(file_, plan);
    remove_unused(file_.parent_path());
  } catch (const std::exception&) {
    // The next question is answered anew.
  }
}

}  // namespace exprun
