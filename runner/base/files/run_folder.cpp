#include "base/files/run_folder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step_";

std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto step = parse_number<int64_t>(std::string_view(name).substr(kPrefix.size()));
  if (step.value_or(-1) < 0) return std::nullopt;
  return step;
}

}  // namespace

fs::path RunFolder::log(int64_t attempt, int rank) const {
  return logs() / ("attempt-" + std::to_string(attempt) + "-rank-" + std::to_string(rank) + ".log");
}

std::optional<RankThreads> kept_threads(const RunFolder& run) try {
  std::error_code ignored;
  if (!fs::exists(run.threads(), ignored)) return std::nullopt;
  const auto json = parse_json_or_discard<nlohmann::json>(read_file(run.threads()));
  const auto number = [&](const char* key) {
    return json.contains(key) && json[key].is_number_integer() ? json[key].get<int>() : 0;
  };
  const RankThreads kept{number("threads"), number("world_size")};
  return kept.threads > 0 && kept.world_size > 0 ? std::optional(kept) : std::nullopt;
} catch (const Error&) {  // it cannot be read
  return std::nullopt;
}

void keep_threads(const RunFolder& run, const RankThreads& threads) {
  if (kept_threads(run) == threads) return;
  const nlohmann::json json{{"threads", threads.threads}, {"world_size", threads.world_size}};
  write_file_atomically(run.threads(), json_text(json, 1) + "\n");
}

std::string checkpoint_name(int64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "step_%08lld", static_cast<long long>(step));
  return name;
}

std::vector<CheckpointFolder> complete_checkpoints(const RunFolder& run,
                                                   std::vector<std::string>* skipped) {
  std::vector<CheckpointFolder> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run.checkpoints(), error)) {
    const std::string name = entry.path().filename().string();
    const auto step = step_of(name);
    if (!step) continue;  // a folder that was being written
    const auto problem = manifest_problem(entry.path(), Verify::sizes);
    if (!problem) found.push_back({entry.path(), *step});
    if (problem && skipped) skipped->push_back(name + ": " + *problem);
  }
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.step > b.step; });
  return found;
}

std::string store_option(const std::filesystem::path& store) {
  const char* const variable = std::getenv("EXPRUN_STORE");
  const std::string usual = variable && *variable ? variable : "runs";
  return store == usual ? "" : " --store " + shell_quoted(store.string());
}

}  // namespace exprun
