#include "control/data/prepare_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/file_error.h"
#include "base/file_lock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/manifest.h"
#include "base/number.h"
#include "control/data/corpus.h"
#include "text/char_tokenizer.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDescription = "data.json";
constexpr size_t kShardTokens = 100'000'000;

// Part of every fingerprint: raise it when the same text would become other tokens.
constexpr const char* kMethod = "text 1";

struct Options {
  std::string tokenizer;
  double validation_fraction;
};

Options options_of(const ResolvedRecipe& recipe) {
  const Section dataset = recipe.section("dataset");
  return {dataset.get<std::string>("tokenizer"), dataset.get<double>("validation_fraction")};
}

std::string fingerprint_of(const std::string& text, const Options& options) {
  return hash_hex(std::string(kMethod) + " " + hash_hex(text) + " " + options.tokenizer + " " +
                  shortest(options.validation_fraction));
}

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& type, const std::string& text) {
  return type == "char" ? make_char_tokenizer(text) : make_byte_tokenizer();
}

// "train_000000.bin" and so on; names only, so that the folder may move.
std::vector<TokenShard> write_split(const fs::path& folder, const std::string& split,
                                    std::span<const uint32_t> tokens) {
  std::vector<TokenShard> shards;
  while (!tokens.empty()) {
    char name[40];
    std::snprintf(name, sizeof name, "%s_%06zu.bin", split.c_str(), shards.size());
    ShardWriter writer(folder / name, 2);
    const size_t count = std::min(tokens.size(), kShardTokens);
    writer.append(tokens.first(count));
    shards.push_back(writer.finish());
    shards.back().path = name;
    tokens = tokens.subspan(count);
  }
  return shards;
}

PreparedData tokenize(const std::string& text, const Options& options, const fs::path& folder) {
  const auto tokenizer = make_tokenizer(options.tokenizer, text);
  const Tokens tokens = tokenizer->encode(text);
  // A token is a byte or a character, so this is nanoGPT's int(0.9 * n).
  const auto train = static_cast<size_t>(
      std::floor((1 - options.validation_fraction) * static_cast<double>(tokens.size())));
  PreparedData data;
  data.tokenizer = tokenizer->to_json();
  data.vocab_size = tokenizer->vocab_size();
  data.train = write_split(folder, "train", std::span(tokens).first(train));
  data.validation = write_split(folder, "validation", std::span(tokens).subspan(train));
  log_info("prepared " + with_thousands(static_cast<int64_t>(tokens.size())) + " tokens of " +
           options.tokenizer + " text, vocabulary " + std::to_string(tokenizer->vocab_size()));
  return data;
}

PreparedData load(const fs::path& folder, const std::string& fingerprint) {
  PreparedData data = PreparedData::from_json(read_file(folder / kDescription));
  data.fingerprint = fingerprint;
  for (auto* split : {&data.train, &data.validation})
    for (TokenShard& shard : *split) shard.path = fs::absolute(folder / shard.path).string();
  return data;
}

bool is_complete(const fs::path& folder) {
  return !manifest_problem(folder, Verify::sizes);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw file_error("make folder", folder, error.value());
}

}  // namespace

PreparedData prepare_text(const ResolvedRecipe& recipe, const fs::path& data_folder,
                          const std::string& libtorch) {
  const std::string text = read_text(recipe, find_text(recipe, libtorch));
  const Options options = options_of(recipe);
  const std::string fingerprint = fingerprint_of(text, options);
  const fs::path folder = data_folder / fingerprint;
  if (is_complete(folder)) return load(folder, fingerprint);

  make_folder(data_folder);
  const FileLock lock = FileLock::take(data_folder / "prepare.lock");
  if (is_complete(folder)) return load(folder, fingerprint);  // another process was first
  remove_unfinished_folders(data_folder);
  AtomicFolder target(folder);
  const PreparedData data = tokenize(text, options, target.path());
  write_file_atomically(target.path() / kDescription, data.to_json());
  target.commit();
  return load(folder, fingerprint);
}

}  // namespace exprun
