// Token shards that paths name, with the set that each is part of.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {

struct ShardFolder {
  std::filesystem::path path;
  bool is_described = false;        // by a set's data.json, which may be damaged
  bool has_manifest = false;        // which may be damaged too
  std::optional<PreparedData> set;  // as load_set() gives it

  bool is_set() const { return is_described || has_manifest; }
  // A damaged description may have done so.
  bool names_tokenizer() const { return is_described && (!set || !set->tokenizer.is_null()); }
};

struct ListedShard {
  std::filesystem::path file;
  std::shared_ptr<const ShardFolder> folder;
  std::shared_ptr<const Tokenizer> tokenizer;  // null before find_tokenizers()
};

struct ListedShards {
  std::vector<std::shared_ptr<const ShardFolder>> folders;  // those that were named
  std::vector<ListedShard> shards;
  std::vector<std::string> problems;  // of paths without a shard, and of damaged descriptions
};

// Each path is a shard, or a folder with shards (*.bin).
ListedShards list_shards(const std::vector<std::string>& paths);

// Those of the sets that the shards are part of, or the BPE at `vocabulary`. Throws Error for that
// one; what a set lacks becomes a problem.
void find_tokenizers(ListedShards& listed, const std::string& vocabulary);

}  // namespace exprun
