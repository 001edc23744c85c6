#include "base/files/run_folder.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files/file.h"
#include "base/json_text.h"
#include "base/strings.h"

namespace exprun {

namespace fs = std::filesystem;

fs::path RunFolder::log(int64_t attempt, int rank) const {
  return logs() / ("attempt-" + std::to_string(attempt) + "-rank-" + std::to_string(rank) + ".log");
}

std::optional<RankThreads> kept_threads(const RunFolder& run) try {
  if (!path_exists(run.threads())) return std::nullopt;
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

bool is_store(const fs::path& folder) {
  return path_exists(folder / kDatabaseName);
}

std::string store_option(const std::filesystem::path& store) {
  const char* const variable = std::getenv("EXPRUN_STORE");
  const std::string usual = variable && *variable ? variable : "runs";
  return store == usual ? "" : " --store " + shell_quoted(store.string());
}

}  // namespace exprun
