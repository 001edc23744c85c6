// What must be the same on all ranks before they train together: the program and its LibTorch, the
// recipe, and the files that every rank reads for itself.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dist/rank_place.h"
#include "text/prepared_data.h"

namespace exprun {

struct ConsistencyRecord {
  std::string what;   // "token shard 'data/train_000.bin'"
  std::string value;  // a hash or a version; why it cannot be read, in brackets
  std::string remedy;
};

// As this rank finds it. Never throws.
std::vector<ConsistencyRecord> consistency_record(
    const std::string& recipe_hash, const PreparedData& data,
    const std::optional<std::filesystem::path>& checkpoint);

// What rank 0 tells the others: {what: value}.
nlohmann::json to_json(const std::vector<ConsistencyRecord>& consistency_record);

// The first difference as a sentence with a remedy ("the program is 3f2a here and 99ab on rank 0:
// install ..."), or nothing.
std::string difference_from_rank_0(const std::vector<ConsistencyRecord>& here,
                                   const nlohmann::json& rank_0);

// Whether every rank has a GPU of its own: NCCL would refuse two ranks on one, or hang.

// One of the two.
struct GpuClaim {
  std::string uuid;     // of the GPU that a rank would compute on
  std::string problem;  // why it has none
  std::string program;  // the hash of what this rank runs, which `evidence` leaves out
};

// The uuid of a rank's GPU; throws Error where it has none.
using OwnGpu = std::function<std::string(const RankPlace&)>;
std::string own_gpu(const RankPlace& place);

GpuClaim claim_of(const RankPlace& place, const OwnGpu& own);

// Why the ranks, in their order, cannot have a GPU each: the first reason, or nothing.
std::string gpu_problem(const std::vector<GpuClaim>& claims);

// Why ranks that have a GPU each cannot train together on them: not all run the same program.
std::string program_problem(const std::vector<GpuClaim>& claims);

void to_json(nlohmann::json& json, const GpuClaim& claim);
void from_json(const nlohmann::json& json, GpuClaim& claim);

}  // namespace exprun
