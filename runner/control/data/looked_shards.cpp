#include "control/data/looked_shards.h"

#include <algorithm>
#include <map>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/manifest.h"
#include "base/number.h"
#include "base/word_list.h"
#include "control/data/own_folder.h"
#include "control/data/prepared_set.h"
#include "text/bpe_tokenizer.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNamed = 3;

// A store's folder of data has a set in each of its folders.
std::vector<std::string> sets_below(const fs::path& folder) {
  std::vector<std::string> sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (std::error_code ignored; fs::exists(entry.path() / kDataDescription, ignored) &&
                                 fs::exists(entry.path() / kManifestName, ignored))
      sets.push_back("'" + entry.path().string() + "'");
  std::sort(sets.begin(), sets.end());
  return sets;
}

std::string why_without_shards(const fs::path& folder) {
  if (listed_files(folder).contains(kDataDescription))
    return "has lost its token shards (*.bin); " + how_to_prepare_again(folder);
  auto sets = sets_below(folder);
  if (sets.empty()) return "has no token shards (*.bin); exprun data prepare makes some";
  const size_t more = sets.size() - std::min(sets.size(), kMostNamed);
  sets.resize(sets.size() - more);
  if (more > 0) sets.push_back(with_thousands(static_cast<int64_t>(more)) + " more");
  return "has no token shards (*.bin), but sets that have some: name " + listed(sets);
}

// Whether the set in the folder has a file of that name, or files below it, that is no shard.
bool is_part_of_set(const std::string& name, const fs::path& folder) {
  const auto listed = listed_files(folder);
  if (!listed.contains(kDataDescription) || name.ends_with(".bin")) return false;
  const auto below = listed.lower_bound(name + '/');
  return name == kManifestName || listed.contains(name) ||
         (below != listed.end() && below->starts_with(name + '/'));
}

// The set that a path lies in without being one of its shards.
std::optional<fs::path> set_around(const fs::path& path) {
  fs::path whole = fs::absolute(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // a slash at its end
  for (const fs::path& folder : {folder_of(whole), folder_of(folder_of(whole))})
    if (is_part_of_set(whole.lexically_relative(folder).generic_string(), folder)) return folder;
  return std::nullopt;
}

class Look {
 public:
  void at(const fs::path& path) try {
    if (!fs::exists(path)) throw Error("data: '" + path.string() + "' does not exist");
    if (fs::is_directory(path)) return at_folder(path);
    if (const auto set = set_around(path)) throw part_of(*set, path);
    looked_.shards.push_back(shard_at(path, folder_at(folder_of(path))));
  } catch (const Error& error) {
    looked_.problems.push_back(error.what());
  } catch (const fs::filesystem_error& error) {
    looked_.problems.push_back("data: cannot look through '" + path.string() +
                               "': " + error.code().message());
  }

  LookedShards found() { return std::move(looked_); }

 private:
  static Error part_of(const fs::path& set, const fs::path& path) {
    return Error("data: '" + path.string() + "' is a part of the set '" + set.string() +
                 "' that holds no tokens; name the set");
  }

  void at_folder(const fs::path& path) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".bin") files.push_back(entry.path());
    // A run's folder has a data.json too, of shards that lie elsewhere.
    const bool is_set = !files.empty() || fs::exists(path / kManifestName);
    const auto folder = is_set ? folder_at(path) : nullptr;
    if (folder) looked_.folders.push_back(folder);
    if (const auto set = files.empty() && !is_set ? set_around(path) : std::nullopt)
      throw part_of(*set, path);
    if (files.empty()) throw Error("data: '" + path.string() + "' " + why_without_shards(path));
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) looked_.shards.push_back(shard_at(file, folder));
  }

  // A link to a shard of a set is one of that set, unless it stands in a set itself.
  LookedShard shard_at(const fs::path& file, std::shared_ptr<const ShardFolder> folder) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    if (error || folder->is_set() || !fs::is_symlink(file))
      return {file, file.filename().string(), std::move(folder), nullptr};
    return {file, real.filename().string(), folder_at(real.parent_path()), nullptr};
  }

  // Once, however many of its shards are named.
  std::shared_ptr<const ShardFolder> folder_at(const fs::path& path) {
    auto& known = known_[path];
    if (!known) known = std::make_shared<const ShardFolder>(described(path));
    return known;
  }

  ShardFolder described(const fs::path& path) {
    ShardFolder folder{path, fs::exists(path / kDataDescription), fs::exists(path / kManifestName),
                       std::nullopt};
    if (folder.is_described) try {
        folder.set = load_set(path);
      } catch (const Error& damaged) {
        looked_.problems.push_back(damaged.what());
      }
    return folder;
  }

  std::map<fs::path, std::shared_ptr<const ShardFolder>> known_;
  LookedShards looked_;
};

}  // namespace

LookedShards look_at_shards(const std::vector<std::string>& paths) {
  Look look;
  for (const std::string& path : paths) look.at(path);
  return look.found();
}

void find_tokenizers(LookedShards& looked, const std::string& vocabulary) {
  std::map<const ShardFolder*, std::shared_ptr<const Tokenizer>> known;
  const auto of_set = [&](const ShardFolder& folder) -> std::shared_ptr<const Tokenizer> {
    if (folder.set && !folder.set->tokenizer.is_null()) try {
        return load_tokenizer(folder.set->tokenizer);
      } catch (const Error& error) {
        looked.problems.push_back(error.what());
      }
    return nullptr;
  };
  const std::shared_ptr<const Tokenizer> asked_for =
      vocabulary.empty() ? nullptr : load_bpe_tokenizer(vocabulary);
  for (LookedShard& shard : looked.shards) {
    const auto [tokenizer, is_new] = known.try_emplace(shard.folder.get(), asked_for);
    if (is_new && !asked_for) tokenizer->second = of_set(*shard.folder);
    shard.tokenizer = tokenizer->second;
  }
}

}  // namespace exprun
