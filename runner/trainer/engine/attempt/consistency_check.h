// What must be the same on all ranks before they train together: the program and its LibTorch, the
// recipe, and the files that every rank reads for itself.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "text/prepared_data.h"

namespace exprun {

struct ConsistencyRecord {
  std::string what;   // "token shard 'data/train_000.bin'"
  std::string value;  // a hash or a version; why it cannot be read, in brackets
  std::string remedy;
};

// What this rank has. Never throws.
std::vector<ConsistencyRecord> consistency_record(
    const std::string& recipe_hash, const PreparedData& data,
    const std::optional<std::filesystem::path>& checkpoint);

// What rank 0 sends the others: {what: value}.
nlohmann::json to_json(const std::vector<ConsistencyRecord>& consistency_record);

// The first difference as a sentence with a remedy ("the program is 3f2a here and 99ab on rank 0:
// install ..."), or nothing.
std::string difference_from_rank_0(const std::vector<ConsistencyRecord>& here,
                                   const nlohmann::json& rank_0);

}  // namespace exprun
