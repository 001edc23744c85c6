#include "control/data/prepare_shards.h"

#include "base/diagnostic.h"
#include "control/data/content_hash.h"
#include "control/data/sources.h"

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

std::vector<TokenShard> find_split(const ResolvedRecipe& recipe, const char* key,
                                   const std::string& libtorch) {
  const Value* paths = recipe.find(key);
  if (!paths) return {};  // validation may be left out
  return shards_of(find_sources(*paths, libtorch), format_of(recipe));
}

std::string fingerprint_of(const PreparedData& data) {
  std::vector<ContentPart> parts;
  for (const TokenShard& shard : data.train) parts.push_back({"train", shard.path});
  for (const TokenShard& shard : data.validation) parts.push_back({"validation", shard.path});
  return content_hash(parts);
}

}  // namespace

PreparedData find_shards(const ResolvedRecipe& recipe, const std::string& libtorch) {
  PreparedData data;
  data.train = find_split(recipe, "dataset.train", libtorch);
  data.validation = find_split(recipe, "dataset.validation", libtorch);
  return data;
}

PreparedData prepare_shards(const ResolvedRecipe& recipe, const std::string& libtorch) {
  PreparedData data = find_shards(recipe, libtorch);
  data.fingerprint = fingerprint_of(data);
  return data;
}

}  // namespace exprun
