// Whether every rank has a GPU of its own: NCCL would refuse two ranks on one, or hang.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dist/rank_place.h"

namespace exprun {

// What a rank says of its GPU: one of the first two.
struct GpuClaim {
  std::string uuid;     // of the GPU that a rank would compute on
  std::string problem;  // why it has none
  std::string program;  // the hash of what this rank runs, which `evidence` leaves out
};

// The uuid of a rank's GPU; throws Error where it has none.
using OwnGpu = std::function<std::string(const RankPlace&)>;
std::string own_gpu(const RankPlace& place);

GpuClaim claim_of(const RankPlace& place, const OwnGpu& own);

// Why not every rank has a GPU of its own, `claims` being in the order of the ranks: the first
// reason, or nothing.
std::string gpu_problem(const std::vector<GpuClaim>& claims);

// Why ranks that have a GPU each cannot train together on them: not all run the same program.
std::string program_problem(const std::vector<GpuClaim>& claims);

void to_json(nlohmann::json& json, const GpuClaim& claim);
void from_json(const nlohmann::json& json, GpuClaim& claim);

}  // namespace exprun
