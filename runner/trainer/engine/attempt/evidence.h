// What must be the same on all ranks before they train together: the program and its LibTorch, the
// recipe, and the files that every rank reads for itself.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "text/prepared_data.h"

namespace exprun {

struct Evidence {
  std::string what;   // "token shard 'data/train_000.bin'"
  std::string value;  // a hash or a version; why it cannot be read, in brackets
  std::string remedy;
};

// As this rank finds it. Never throws.
std::vector<Evidence> evidence(const std::string& recipe_hash, const PreparedData& data,
                               const std::optional<std::filesystem::path>& checkpoint);

// What rank 0 tells the others: {what: value}.
nlohmann::json to_json(const std::vector<Evidence>& evidence);

// The first difference as a sentence with a remedy ("the program is 3f2a here and 99ab on rank 0:
// install ..."), or nothing.
std::string difference_from_rank_0(const std::vector<Evidence>& here, const nlohmann::json& rank_0);

}  // namespace exprun
