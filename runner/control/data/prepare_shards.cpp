#include "control/data/prepare_shards.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/data/input_files.h"
#include "control/data/prepared_set.h"
#include "control/data/shards/shard_contents.h"
#include "control/data/sources/sources.h"
#include "control/data/text_sources.h"
#include "recipe/paths.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostShardsNamed = 4;

ShardFormat format_of(const ResolvedRecipe& recipe) {
  const auto format = recipe.section("dataset").get<std::string>("format");
  return format == "raw_uint16" ? ShardFormat::raw_uint16 : ShardFormat::with_header;
}

// What the manifest of its folder says against a shard; nothing where none lists it.
using ManifestProblems = std::map<fs::path, std::string>;

// Of a folder's files those that are sources are looked at, and the small ones that are no shards,
// without which the manifest could not vouch for all that are there.
ManifestProblems manifest_problems_beside(const std::vector<fs::path>& files) {
  std::map<fs::path, std::set<std::string>> names;  // by folder
  for (const fs::path& file : files) names[file.parent_path()].insert(file.filename().string());
  ManifestProblems found;
  std::error_code ignored;
  for (auto& [folder, looked_at] : names) try {
      for (const std::string& listed : listed_files(folder))
        if (fs::path(listed).extension() != ".bin" && fs::exists(folder / listed, ignored))
          looked_at.insert(listed);
      for (const auto& [file, what] : manifest_problems(folder, Verify::changed, looked_at))
        found[folder / file] = what;
    } catch (const Error& unreadable) {  // a shard is reported at its place
      log(LogLevel::debug, unreadable.what());
    }
  return found;
}

// What lies beside the shards of a set.
bool describes_set(const fs::path& file) {
  const fs::path name = file.filename();
  return name == kDataDescription || name == kManifestName || name.extension() == ".segments";
}

// Patterns that match more of a set than its shards, each told once.
Diagnostics too_wide_patterns(const std::vector<Source>& sources, Split split) {
  Diagnostics problems;
  for (const Source& source : sources) {
    const auto same_place = [&](const Diagnostic& known) {
      return known.where.file == source.where.file && known.where.line == source.where.line &&
             known.where.column == source.where.column;
    };
    if (!source.by_glob || !describes_set(source.file) || std::ranges::any_of(problems, same_place))
      continue;
    problems.push_back({source.where,
                        "this also matches '" + source.file.string() + "', which is no token shard",
                        how_to_name_files_in(source.file.parent_path(), {"token_shards", split})});
  }
  return problems;
}

// Prepared by a run, whose data are named by their fingerprint: others may do without a manifest.
bool is_set_of_store(const fs::path& folder) {
  std::error_code ignored;
  const auto set = unverified_set(folder);
  return set && fs::weakly_canonical(fs::absolute(folder), ignored).filename() == set->fingerprint;
}

// Of a folder whose manifest is not what its shards are.
std::string how_to_mend_listed(const fs::path& folder) {
  if (is_set_of_store(folder)) return how_to_prepare_again(folder);
  return std::string("download or create it again, or remove ") + kManifestName +
         " if the change is meant";
}

// Each folder once.
Diagnostics sets_without_manifest(const std::vector<Source>& sources) {
  Diagnostics problems;
  std::set<fs::path> known;
  std::error_code ignored;
  for (const Source& source : sources)
    if (const fs::path folder = folder_of(source.file);
        known.insert(folder).second && !fs::exists(folder / kManifestName, ignored) &&
        is_set_of_store(folder))
      problems.push_back({source.where,
                          "the prepared data in '" + folder.string() + "' has no " + kManifestName +
                              ", so nothing shows that it is whole",
                          how_to_prepare_again(folder)});
  return problems;
}

// Absolute, because a trainer may start elsewhere. Every bad shard of the split is reported.
std::vector<TokenShard> shards_of(const std::vector<Source>& sources, Split split,
                                  ShardFormat format, const ManifestProblems& listed) {
  std::vector<TokenShard> shards;
  Diagnostics problems = too_wide_patterns(sources, split);
  if (problems.empty()) problems = sets_without_manifest(sources);
  if (!problems.empty()) throw RecipeError(std::move(problems));
  for (const Source& source : sources) try {
      if (const auto found = listed.find(source.file); found != listed.end())
        throw Error("token shard: '" + source.file.string() + "' " + found->second + "; " +
                    how_to_mend_listed(folder_of(source.file)));
      shards.push_back(inspect_shard(source.file, format));
      shards.back().path = fs::absolute(source.file).string();
    } catch (const Error& error) {
      problems.push_back(problem_at(source.where, error));
    }
  if (!problems.empty()) throw RecipeError(std::move(problems));
  return shards;
}

// Reads the shards, and gives each its hash and all their fingerprint. Throws Error.
void identify(PreparedData& data) {
  std::vector<ContentPart> parts;
  for (const TokenShard& shard : data.train) parts.push_back({"train", shard.path});
  for (const TokenShard& shard : data.validation) parts.push_back({"validation", shard.path});
  data.fingerprint = content_hash(parts);
  auto part = parts.begin();
  for (auto* split : {&data.train, &data.validation})
    for (TokenShard& shard : *split) shard.content = (part++)->hash;
}

std::vector<fs::path> files_of(const std::vector<Source>& sources) {
  std::vector<fs::path> files;
  for (const Source& source : sources) files.push_back(source.file);
  return files;
}

std::vector<fs::path> files_of(const std::vector<TokenShard>& shards) {
  std::vector<fs::path> files;
  for (const TokenShard& shard : shards) files.emplace_back(shard.path);
  return files;
}

template <class File>
std::vector<fs::path> files_of(const std::vector<File>& train,
                               const std::vector<File>& validation) {
  std::vector<fs::path> files = files_of(train);
  for (fs::path& file : files_of(validation)) files.push_back(std::move(file));
  return files;
}

// Whether the files hold the validation shards that a run has recorded.
bool hold_validation(const std::vector<fs::path>& files, const PreparedData& recorded) {
  uint64_t all = 0;
  for (const auto* split : {&recorded.train, &recorded.validation})
    for (const TokenShard& shard : *split) all += static_cast<uint64_t>(shard.file_bytes());
  return std::ranges::equal(
      files, recorded.validation, [&](const fs::path& file, const TokenShard& shard) {
        std::error_code missing;
        const auto bytes = static_cast<uintmax_t>(shard.file_bytes());
        return fs::file_size(file, missing) == bytes && hash_of_part(file, all) == shard.content;
      });
}

PreparedData set_in(const fs::path& folder, const Section& dataset) {
  if (std::error_code ignored; !fs::exists(folder / kDataDescription, ignored))
    throw dataset.error("tokenizer",
                        "there is no " + std::string(kDataDescription) + " in '" + folder.string() +
                            "' that says which tokenizer made the tokens",
                        "exprun data prepare --out writes one; for the shards of others name the "
                        "tokenizer, or write \"none\" and set vocab_size in [model]");
  return load_set(folder);
}

// Where it differs, the same number is another token.
auto kind_of_tokenizer(const PreparedData& set) {
  return std::pair(set.tokenizer.value("type", ""), set.vocab_size);
}

// As the sets say that the files belong to.
void take_tokenizer_of_sets(const Section& dataset, PreparedData& data) {
  const std::set<fs::path> folders = folders_of(data);
  for (const fs::path& folder : folders) {
    PreparedData set = set_in(folder, dataset);
    if (folder != *folders.begin() && kind_of_tokenizer(set) != kind_of_tokenizer(data))
      throw dataset.error("tokenizer", "the tokens in '" + folder.string() + "' and in '" +
                                           folders.begin()->string() +
                                           "' were made by different tokenizers");
    data.tokenizer = std::move(set.tokenizer);
    data.vocab_size = set.vocab_size;
  }
}

// What made the tokens, where the recipe says so.
void find_tokenizer(const ResolvedRecipe& recipe, const std::string& libtorch, PreparedData& data) {
  const Section dataset = recipe.section("dataset");
  const auto name = dataset.get<std::string>("tokenizer");
  if (name == "none") return;
  if (name == "prepared") return take_tokenizer_of_sets(dataset, data);
  fs::path path;
  try {
    path = fs::absolute(expand_path(dataset.get<std::string>("vocabulary"), libtorch));
  } catch (const Error& error) {
    throw as_lack(dataset.error("vocabulary", error.what()));
  }
  const auto tokenizer = load_named_tokenizer(dataset, name, path);
  data.tokenizer = tokenizer->to_json();
  data.vocab_size = tokenizer->vocab_size();
}

// Of the sets in their folders that list them; nothing where `tokenizer = "prepared"` would find a
// folder without one, or different tokenizers.
std::optional<int64_t> described_vocabulary(const PreparedData& shards) {
  std::map<fs::path, std::optional<PreparedData>> sets;
  const PreparedData* first = nullptr;
  for (const auto* split : {&shards.train, &shards.validation})
    for (const TokenShard& shard : *split) {
      const fs::path file = shard.path, folder = file.parent_path();
      const auto [known, is_new] = sets.try_emplace(folder);
      if (is_new) known->second = described_set(folder);
      const auto& set = known->second;
      if (!set || !set->vocab_size) return std::nullopt;
      const auto is_it = [&](const TokenShard& one) { return one.path == file.filename(); };
      if (std::ranges::none_of(set->train, is_it) && std::ranges::none_of(set->validation, is_it))
        continue;
      if (first && kind_of_tokenizer(*first) != kind_of_tokenizer(*set)) return std::nullopt;
      first = &*set;
    }
  return first ? first->vocab_size : std::nullopt;
}

// That holds the tokens at the beginning of each shard: of few all. Throws one RecipeError for all
// shards with a token that no vocabulary has.
int64_t least_vocabulary(const ResolvedRecipe& recipe, const PreparedData& shards) {
  constexpr int64_t kMostTokensRead = int64_t{8} << 20;
  const auto number = static_cast<int64_t>(shards.train.size() + shards.validation.size());
  int64_t largest = 0;
  Diagnostics problems;
  for (const auto& [key, split] : {std::pair("dataset.train", &shards.train),
                                   std::pair("dataset.validation", &shards.validation)})
    for (const TokenShard& shard : *split) try {
        largest = std::max(largest, largest_token(shard, kMostTokensRead / number));
      } catch (const Error& error) {
        problems.push_back(problem_at(recipe.find(key)->where, error));
      }
  if (!problems.empty()) throw RecipeError(std::move(problems));
  return largest + 1;
}

}  // namespace

void add_vocabulary(const ResolvedRecipe& recipe, const PreparedData& shards,
                    DatasetInfo& dataset_info) {
  if (shards.vocab_size) return;
  const auto described = described_vocabulary(shards);
  dataset_info.described_vocab_size = described;
  const auto size = integer_at(recipe.root(), "model.vocab_size");
  const bool is_enough = described && (!size || *size >= *described);
  if (!is_enough) dataset_info.least_vocab_size = least_vocabulary(recipe, shards);
}

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
  collect([&] { sources = find_split_sources(*recipe.find("dataset")->as<Table>(), libtorch); });
  const ManifestProblems listed =
      manifest_problems_beside(files_of(sources.train, sources.validation));
  const ShardFormat format = format_of(recipe);
  collect([&] { data.train = shards_of(sources.train, Split::train, format, listed); });
  collect(
      [&] { data.validation = shards_of(sources.validation, Split::validation, format, listed); });
  collect([&] { find_tokenizer(recipe, libtorch, data); });
  if (!problems.empty()) throw RecipeError(std::move(problems));
  return data;
}

PreparedData prepare_shards(const ResolvedRecipe& recipe, const std::string& libtorch) {
  PreparedData data = find_shards(recipe, libtorch);
  data.described_vocab_size = described_vocabulary(data);
  identify(data);
  return data;
}

bool are_unchanged(const PreparedData& shards) try {
  if (!manifest_problems_beside(files_of(shards.train, shards.validation)).empty()) return false;
  PreparedData now = shards;
  identify(now);
  return now.fingerprint == shards.fingerprint;
} catch (const Error& error) {  // one is gone, or cannot be read
  log(LogLevel::debug, error.what());
  return false;
}

std::optional<PreparedData> with_validation_found(const PreparedData& data,
                                                  const ResolvedRecipe& recipe,
                                                  const std::string& libtorch) {
  const auto known = files_of(data.validation);
  if (hold_validation(known, data) && manifest_problems_beside(known).empty()) return std::nullopt;
  const auto sources = find_sources(*recipe.find("dataset.validation"), libtorch,
                                    {"token_shards", Split::validation});
  const auto files = files_of(sources);
  PreparedData found;
  found.validation =
      shards_of(sources, Split::validation, format_of(recipe), manifest_problems_beside(files));
  if (!hold_validation(files, data))
    throw Error("data: " + some_of({files.begin(), files.end()}, kMostShardsNamed) +
                (files.size() == 1 ? " is" : " are") +
                " not what the run was validated on; bring the old data back");
  find_tokenizer(recipe, libtorch, found);
  PreparedData moved = data;
  moved.validation = std::move(found.validation);
  if (found.vocab_size == data.vocab_size) moved.tokenizer = std::move(found.tokenizer);
  return moved;
}

}  // namespace exprun
