#include "control/data/prepare_shards.h"

#include "base/diagnostic.h"
#include "control/data/content_hash.h"
#include "control/data/sources.h"
#include "recipe/paths.h"
#include "text/bpe_tokenizer.h"

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

// What made the tokens, where the recipe says so.
void find_tokenizer(const ResolvedRecipe& recipe, const std::string& libtorch, PreparedData& data) {
  const Section dataset = recipe.section("dataset");
  if (dataset.get<std::string>("tokenizer") == "none") return;
  try {
    const fs::path path = expand_path(dataset.get<std::string>("vocabulary"), libtorch);
    const auto tokenizer = load_bpe_tokenizer(fs::absolute(path));
    data.tokenizer = tokenizer->to_json();
    data.vocab_size = tokenizer->vocab_size();
  } catch (const Error& error) {
    throw dataset.error("vocabulary", error.what(), "GPT-2's: exprun data fetch gpt2_tokenizer");
  }
}

}  // namespace

PreparedData find_shards(const ResolvedRecipe& recipe, const std::string& libtorch) {
  PreparedData data;
  data.train = find_split(recipe, "dataset.train", libtorch);
  data.validation = find_split(recipe, "dataset.validation", libtorch);
  find_tokenizer(recipe, libtorch, data);
  return data;
}

PreparedData prepare_shards(const ResolvedRecipe& recipe, const std::string& libtorch) {
  PreparedData data = find_shards(recipe, libtorch);
  data.fingerprint = fingerprint_of(data);
  return data;
}

}  // namespace exprun
