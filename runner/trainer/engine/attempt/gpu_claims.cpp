#include "engine/attempt/gpu_claims.h"

#include <map>

#include "base/diagnostic.h"
#include "base/hash.h"
#include "base/machine/network.h"
#include "engine/device/device.h"

namespace exprun {

std::string own_gpu(const RankPlace& place) {
  return facts_of(device_of_rank(at::kCUDA, place.local_rank)).uuid;
}

GpuClaim claim_of(const RankPlace& place, const OwnGpu& own) {
  try {
    return {own(place), "", hash_file_hex("/proc/self/exe")};
  } catch (const Error& error) {
    return {"",
            "dist: rank " + std::to_string(place.rank) + " on " + host_name() + ": " + error.what(),
            ""};
  }
}

std::string gpu_problem(const std::vector<GpuClaim>& claims) {
  std::map<std::string, size_t> taken;
  for (size_t rank = 0; rank < claims.size(); ++rank) {
    if (!claims[rank].problem.empty()) return claims[rank].problem;
    const auto [first, is_free] = taken.emplace(claims[rank].uuid, rank);
    if (!is_free)
      return "dist: ranks " + std::to_string(first->second) + " and " + std::to_string(rank) +
             " would use the same GPU, " + first->first +
             "; start one rank per GPU, or make the launcher assign a GPU to each rank "
             "(CUDA_VISIBLE_DEVICES, LOCAL_RANK)";
  }
  return "";
}

std::string program_problem(const std::vector<GpuClaim>& claims) {
  for (size_t rank = 1; rank < claims.size(); ++rank)
    if (claims[rank].program != claims[0].program)
      return "dist: the GPU program is " + claims[rank].program + " on rank " +
             std::to_string(rank) + " and " + claims[0].program +
             " on rank 0; install the same exprun and LibTorch on all machines";
  return "";
}

void to_json(nlohmann::json& json, const GpuClaim& claim) {
  json = {{"uuid", claim.uuid}, {"problem", claim.problem}, {"program", claim.program}};
}

void from_json(const nlohmann::json& json, GpuClaim& claim) {
  claim = {json.at("uuid"), json.at("problem"), json.at("program")};
}

}  // namespace exprun
