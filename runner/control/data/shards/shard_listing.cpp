#include "control/data/shards/shard_listing.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "control/data/prepared_set.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

class Listing {
 public:
  void add(const fs::path& path) try {
    if (!fs::exists(path)) throw Error("data: '" + path.string() + "' does not exist");
    if (fs::is_directory(path)) return add_folder(path);
    if (path.extension() == ".toml")
      throw Error("data: '" + path.string() +
                  "' is a recipe, not token shards; exprun data prepare " +
                  shell_quoted(path.string()) + " makes them");
    listed_.shards.push_back({path, folder_at(folder_of(path)), nullptr});
  } catch (const Error& error) {
    listed_.problems.push_back(error.what());
  } catch (const fs::filesystem_error& error) {
    listed_.problems.push_back("data: cannot look through '" + path.string() +
                               "': " + error.code().message());
  }

  ListedShards listed() { return std::move(listed_); }

 private:
  void add_folder(const fs::path& path) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".bin") files.push_back(entry.path());
    // A run's folder has a data.json too, of shards that lie elsewhere.
    const bool is_set = !files.empty() || fs::exists(path / kManifestName);
    const auto folder = is_set ? folder_at(path) : nullptr;
    if (folder) listed_.folders.push_back(folder);
    if (files.empty())
      throw Error("data: '" + path.string() +
                  "' has no token shards (*.bin); exprun data prepare makes some");
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) listed_.shards.push_back({file, folder, nullptr});
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
        listed_.problems.push_back(damaged.what());
      }
    return folder;
  }

  std::map<fs::path, std::shared_ptr<const ShardFolder>> known_;
  ListedShards listed_;
};

}  // namespace

ListedShards list_shards(const std::vector<std::string>& paths) {
  Listing listing;
  for (const std::string& path : paths) listing.add(path);
  return listing.listed();
}

void find_tokenizers(ListedShards& listed, const std::string& vocabulary) {
  std::map<const ShardFolder*, std::shared_ptr<const Tokenizer>> known;
  const auto of_set = [&](const ShardFolder& folder) -> std::shared_ptr<const Tokenizer> {
    if (folder.set && !folder.set->tokenizer.is_null()) try {
        return load_tokenizer(folder.set->tokenizer);
      } catch (const Error& error) {
        listed.problems.push_back(error.what());
      }
    return nullptr;
  };
  const std::shared_ptr<const Tokenizer> asked_for =
      vocabulary.empty() ? nullptr : load_vocabulary(vocabulary);
  for (ListedShard& shard : listed.shards) {
    const auto [tokenizer, is_new] = known.try_emplace(shard.folder.get(), asked_for);
    if (is_new && !asked_for) tokenizer->second = of_set(*shard.folder);
    shard.tokenizer = tokenizer->second;
  }
}

}  // namespace exprun
