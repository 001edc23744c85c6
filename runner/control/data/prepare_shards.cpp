#include "control/data/prepare_shards.h"

#include <algorithm>
#include <map>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/strings.h"
#include "control/data/input_files.h"
#include "control/data/output_directory.h"
#include "control/data/prepared_set.h"
#include "control/data/sources.h"
#include "recipe/paths.h"
#include "text/bpe/bpe_tokenizer.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

ShardFormat format_of(const ResolvedRecipe& recipe) {
  const auto format = recipe.section("dataset").get<std::string>("format");
  return format == "raw_uint16" ? ShardFormat::raw_uint16 : ShardFormat::with_header;
}

// Absolute, because a trainer may start elsewhere. Every bad shard of the split is reported.
std::vector<TokenShard> shards_of(const std::vector<Source>& sources, ShardFormat format) {
  std::vector<TokenShard> shards;
  Diagnostics problems;
  for (const Source& source : sources) try {
      shards.push_back(inspect_shard(source.file, format));
      shards.back().path = fs::absolute(source.file).string();
    } catch (const Error& error) {
      problems.push_back({source.where, error.what(), "", {}, Severity::error});
    }
  if (!problems.empty()) throw RecipeError(std::move(problems));
  return shards;
}

std::string fingerprint_of(const PreparedData& data) {
  std::vector<ContentPart> parts;
  for (const TokenShard& shard : data.train) parts.push_back({"train", shard.path});
  for (const TokenShard& shard : data.validation) parts.push_back({"validation", shard.path});
  return content_hash(parts);
}

// What made the tokens, where the recipe says so.
void find_tokenizer(const ResolvedRecipe& recipe, const std::string& libtorch, PreparedData& data) {
  const Section dataset = recipe.section("dataset");
  const auto name = dataset.get<std::string>("tokenizer");
  if (name == "none") return;
  fs::path path;
  try {
    path = fs::absolute(expand_path(dataset.get<std::string>("vocabulary"), libtorch));
  } catch (const Error& error) {
    throw dataset.error("vocabulary", error.what());
  }
  const auto tokenizer = load_named_tokenizer(dataset, name, path);
  data.tokenizer = tokenizer->to_json();
  data.vocab_size = tokenizer->vocab_size();
}

}  // namespace

PreparedData find_shards(const ResolvedRecipe& recipe, const std::string& libtorch) {
  PreparedData data;
  Diagnostics problems;
  const auto collect = [&](const auto& find) {
    try {
      find();
    } catch (const RecipeError& error) {
      problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  };
  SplitSources sources;
  collect([&] {
    sources = find_split_sources(*recipe.find("dataset.train"), recipe.find("dataset.validation"),
                                 libtorch);
  });
  collect([&] { data.train = shards_of(sources.train, format_of(recipe)); });
  collect([&] { data.validation = shards_of(sources.validation, format_of(recipe)); });
  collect([&] { find_tokenizer(recipe, libtorch, data); });
  if (!problems.empty()) throw RecipeError(std::move(problems));
  return data;
}

PreparedData prepare_shards(const ResolvedRecipe& recipe, const std::string& libtorch) {
  PreparedData data = find_shards(recipe, libtorch);
  data.fingerprint = fingerprint_of(data);
  return data;
}

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

  ListedShards found() { return std::move(looked_); }

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
  ListedShard shard_at(const fs::path& file, std::shared_ptr<const ShardFolder> folder) {
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
  ListedShards looked_;
};

}  // namespace

ListedShards look_at_shards(const std::vector<std::string>& paths) {
  Look look;
  for (const std::string& path : paths) look.at(path);
  return look.found();
}

void find_tokenizers(ListedShards& looked, const std::string& vocabulary) {
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
  for (ListedShard& shard : looked.shards) {
    const auto [tokenizer, is_new] = known.try_emplace(shard.folder.get(), asked_for);
    if (is_new && !asked_for) tokenizer->second = of_set(*shard.folder);
    shard.tokenizer = tokenizer->second;
  }
}

}  // namespace exprun
