#include "control/launch/run/run_data.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/data/prepare_shards.h"
#include "control/data/prepared_set.h"
#include "recipe/recipe_text.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMostSources = 4;

struct Content {
  std::string path;  // as it was written
  std::string hash;
};

// Absolute. Of a project that was moved it is where the project is now.
fs::path place_of(const fs::path& path, const fs::path& working_directory) {
  std::error_code ignored;
  const fs::path then = (working_directory / path).lexically_normal();
  if (path.is_absolute() || path_exists(then)) return then;
  const fs::path now = fs::absolute(path, ignored).lexically_normal();
  return path_exists(now) ? now : then;
}

bool is_made_of_raw(const PreparedData& data) {
  return data.made_from.is_object();
}

// By absolute paths. Token shards are their own source, and no hash of each is known.
std::map<fs::path, Content> contents_of(const PreparedData& data) {
  std::map<fs::path, Content> contents;
  if (!is_made_of_raw(data)) {
    for (const auto* shards : {&data.train, &data.validation})
      for (const TokenShard& shard : *shards) contents[shard.path] = {shard.path, ""};
    return contents;
  }
  const fs::path there = data.made_from.value("working_directory", "");
  for (const json& file : data.made_from.value("files", json::array())) {
    const std::string path = file.value("path", "");
    contents[place_of(path, there)] = {path, file.value("xxh3_128", "")};
  }
  return contents;
}

// As they were written.
std::vector<std::string> gone_among(const std::map<fs::path, Content>& contents) {
  std::vector<std::string> gone;
  for (const auto& [file, content] : contents)
    if (!path_exists(file)) gone.push_back(content.path);
  return gone;
}

// "a.txt is gone", "a.txt, b.txt are new"
std::string are(const std::vector<std::string>& names, const std::string& what) {
  return some_of(names, kMostSources) + (names.size() == 1 ? " is " : " are ") + what;
}

// "train_000000.bin is missing", of files of a set, but for shards that nobody reads.
std::string problem_in(const fs::path& folder, const std::vector<TokenShard>& unread) try {
  std::set<std::string> read = listed_files(folder);
  for (const TokenShard& shard : unread) read.erase(fs::path(shard.path).filename());
  const auto problems = manifest_problems(folder, Verify::changed, read);
  return problems.empty() ? "" : problems[0].file + " " + problems[0].what;
} catch (const Error& unreadable) {
  return unreadable.what();
}

// "the prepared data in 'runs/data/1a2b' is damaged (...)"; empty for tokens of raw sources that
// are as they were prepared, but for shards that nobody reads.
std::string damage_of(const PreparedData& data, const std::vector<TokenShard>& unread = {}) {
  for (const fs::path& folder : folders_of(data)) {
    const std::string tokens = "the prepared data in '" + folder.string() + "' is ";
    if (!path_exists(folder)) return tokens + "gone";
    if (const std::string problem = problem_in(folder, unread); !problem.empty())
      return tokens + "damaged (" + problem + ")";
  }
  return "";
}

// Of tokens that their sources cannot bring back.
Error lost_tokens(const std::string& damage, const std::string& what_became_of_sources) {
  return Error("data: " + damage + ", and " + what_became_of_sources +
               "; bring the sources back as they were");
}

// Whether those of the sources that are there are as they were. Throws Error.
bool are_as_they_were(const PreparedData& data, const std::map<fs::path, Content>& contents) {
  if (!is_made_of_raw(data)) return are_unchanged(data);
  return std::all_of(contents.begin(), contents.end(), [&](const auto& source) {
    return !path_exists(source.first) || hash_file_hex(source.first) == source.second.hash;
  });
}

// Of very many files only some are known.
bool names_all_sources(const PreparedData& data) {
  if (!is_made_of_raw(data)) return !data.train.empty();
  const size_t named = data.made_from.value("files", json::array()).size();
  return named == data.made_from.value("number_of_files", named);
}

}  // namespace

std::optional<PreparedData> data_of_run(const RunFolder& folder) try {
  if (!path_exists(folder.data())) return std::nullopt;
  return PreparedData::load(folder.data());
} catch (const Error& error) {
  log(LogLevel::debug, error.what());
  return std::nullopt;
}

std::optional<ResolvedRecipe> recipe_of_run(const RunFolder& folder) try {
  if (!path_exists(folder.recipe())) return std::nullopt;
  return try_resolve(RecipeText::from_json(read_file(folder.recipe()))).recipe;
} catch (const std::runtime_error& error) {  // Error, RecipeError
  log(LogLevel::debug, error.what());
  return std::nullopt;
}

bool are_there(const PreparedData& data) {
  for (const auto* shards :
       {&data.train, &data.validation, &data.train_segments, &data.validation_segments})
    for (const TokenShard& shard : *shards)
      if (!path_exists(shard.path)) return false;
  return true;
}

std::optional<PreparedData> recorded_data(const RunRow& run, const RunFolder& folder,
                                          NewSources new_sources,
                                          const std::function<std::vector<fs::path>()>& sources) {
  auto data = data_of_run(folder);
  if (!data || data->fingerprint != run.data_fingerprint || !are_there(*data)) return std::nullopt;
  if (!names_all_sources(*data)) return std::nullopt;
  const auto contents = contents_of(*data);
  const std::vector<std::string> gone = gone_among(contents);
  if (gone.empty() && new_sources == NewSources::are_read) return std::nullopt;
  std::vector<std::string> added;
  for (const fs::path& source : sources())
    if (!contents.contains(fs::absolute(source).lexically_normal()))
      added.push_back(source.string());
  if (gone.empty() && added.empty()) return std::nullopt;  // before large files are read
  if (!are_as_they_were(*data, contents)) return std::nullopt;
  const std::string damage = is_made_of_raw(*data) ? damage_of(*data) : "";
  if (!damage.empty() && gone.empty()) return std::nullopt;
  if (!damage.empty()) throw lost_tokens(damage, are(gone, "gone"));
  log_warning(gone.empty()
                  ? "data: " + are(added, "new") + "; " + run.folder + " continues without " +
                        (added.size() == 1 ? "it" : "them")
                  : "data: " + are(gone, "gone") + (added.empty() ? "" : ", " + are(added, "new")) +
                        "; training uses the prepared tokens of " + run.folder);
  return data;
}

namespace {

// Older runs have recorded a hash of all shards together only.
bool has_shard_hashes(const PreparedData& data) {
  return std::ranges::none_of(data.validation,
                              [](const TokenShard& shard) { return shard.content.empty(); });
}

}  // namespace

std::optional<PreparedData> restore_validation(const RunRow& run, const StoreFolder& folder,
                                               const ResolvedRecipe& recipe) {
  const RunFolder run_folder = folder.run(run.folder);
  const auto data = data_of_run(run_folder);
  if (!data) return std::nullopt;
  if (!is_made_of_raw(*data)) {
    if (has_shard_hashes(*data)) return with_validation_found(*data, recipe);
    if (are_unchanged(*data)) return std::nullopt;
    PreparedData now = prepare_data(recipe, folder.data());
    if (now.fingerprint == run.data_fingerprint) return now;
    throw Error("data: " + changed_data(now, run, run_folder));
  }
  const std::string damage = damage_of(*data, data->train);
  if (damage.empty()) return std::nullopt;
  const std::vector<std::string> gone = gone_among(contents_of(*data));
  if (!gone.empty()) throw lost_tokens(damage, are(gone, "gone"));
  const PreparedData now = prepare_data(recipe, folder.data());
  if (now.fingerprint != run.data_fingerprint)
    throw lost_tokens(damage, data_difference(now, run, run_folder, false));
  return std::nullopt;
}

std::string changed_sources(const PreparedData& now, const RunFolder& folder) {
  const auto before = data_of_run(folder);
  if (!before || before->fingerprint == now.fingerprint) return "";
  const auto then = contents_of(*before);
  std::vector<std::string> names;
  for (const auto& [path, content] : contents_of(now)) {
    const auto known = then.find(path);
    if (known != then.end() && known->second.hash != content.hash) names.push_back(content.path);
  }
  if (names.empty()) return "";
  return some_of(names, kMostSources) +
         (names.size() == 1 ? " has changed since" : " have changed since");
}

std::string different_sources(const PreparedData& now, const RunFolder& folder) {
  const auto before = data_of_run(folder);
  if (!before || before->fingerprint == now.fingerprint) return "";
  const auto then = contents_of(*before);
  std::string text = changed_sources(now, folder);
  const auto add = [&](const std::vector<std::string>& names, const std::string& what) {
    if (!names.empty()) text += (text.empty() ? "" : "; ") + are(names, what);
  };
  add(gone_among(then), "gone");
  std::vector<std::string> added;
  if (names_all_sources(*before))
    for (const auto& [path, content] : contents_of(now))
      if (!then.contains(path)) added.push_back(content.path);
  add(added, "new");
  return text;
}

std::string data_difference(const PreparedData& now, const RunRow& run, const RunFolder& folder,
                            bool keys_differ) {
  if (run.data_fingerprint == now.fingerprint) return "";
  if (keys_differ) return changed_sources(now, folder);
  const std::string sources = different_sources(now, folder);
  return sources.empty() ? "its content differs" : sources;
}

bool outlives_its_text(const PreparedData& now, const RunFolder& folder) {
  const auto before = data_of_run(folder);
  return before && is_made_of_raw(*before) && are_there(*before) &&
         !changed_sources(now, folder).empty();
}

std::string changed_data(const PreparedData& now, const RunRow& run, const RunFolder& folder) {
  const std::string sources = different_sources(now, folder);
  return "the data of " + run.folder + " has changed since it began (fingerprint " +
         run.data_fingerprint.substr(0, 8) + ", now " + now.fingerprint.substr(0, 8) +
         (sources.empty() ? "" : "; " + sources) +
         "), or this version of exprun prepares it differently; bring the old data back";
}

bool has_other_data(const ResolvedRecipe& recipe, const std::optional<std::string>& now,
                    const RunRow& run, const RunFolder& folder) {
  if (now) return *now != run.data_fingerprint;
  const auto before = data_of_run(folder);
  if (!before || !is_made_of_raw(*before)) return false;
  int64_t bytes = 0;
  const std::vector<fs::path> files = source_files(recipe);
  for (const fs::path& file : files) {
    std::error_code unreadable;
    bytes += static_cast<int64_t>(fs::file_size(file, unreadable));
    if (unreadable) return false;
  }
  return !files.empty() && bytes != before->made_from.value("source_bytes", bytes);
}

bool differ_in_data(const std::vector<RunRow>& runs) {
  return std::ranges::any_of(runs, [&](const RunRow& run) {
    return run.data_fingerprint != runs.front().data_fingerprint;
  });
}

}  // namespace exprun
