#include "engine/attempt/consistency_check.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/machine/network.h"
#include "base/process/program.h"
#include "engine/device/device.h"
#include "engine/device/machine.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

constexpr const char* kInstall = "install the same exprun and LibTorch on all machines";
constexpr const char* kSameRecipe =
    "start all ranks with the same recipe and the same key=value arguments";
constexpr const char* kSameFiles = "use the same files on all machines";

template <class Function>
std::string value_or_reason(Function&& function) {
  try {
    return function();
  } catch (const std::exception& error) {
    return "(" + std::string(error.what()) + ")";
  }
}

// The trainer for CPUs, also of a rank whose machine has GPUs and runs the other one: whether they
// train on them is not known yet (GpuClaim has that one).
std::filesystem::path program() {
  const auto self = own_program();
  if (self.empty()) throw Error("cannot read /proc/self/exe");
  return self.parent_path() / "exprun-trainer";
}

}  // namespace

std::vector<ConsistencyRecord> consistency_record(
    const std::string& recipe_hash, const PreparedData& data,
    const std::optional<std::filesystem::path>& checkpoint) {
  std::vector<ConsistencyRecord> all;
  all.push_back(
      {"the program", value_or_reason([] { return hash_file_hex(program()); }), kInstall});
  all.push_back({"LibTorch", this_machine().libtorch, kInstall});
  all.push_back({"the recipe", recipe_hash, kSameRecipe});
  for (const auto* files :
       {&data.train, &data.validation, &data.train_segments, &data.validation_segments})
    for (const TokenShard& shard : *files)
      all.push_back({"token shard '" + shard.path + "'",
                     value_or_reason([&] { return sampled_hash(shard); }), kSameFiles});
  if (checkpoint)
    all.push_back({"checkpoint '" + checkpoint->string() + "'",
                   value_or_reason([&] { return hash_file_hex(*checkpoint / kManifestName); }),
                   kSameFiles});
  return all;
}

nlohmann::json to_json(const std::vector<ConsistencyRecord>& consistency_record) {
  nlohmann::json values = nlohmann::json::object();
  for (const ConsistencyRecord& one : consistency_record) values[one.what] = one.value;
  return values;
}

std::string difference_from_rank_0(const std::vector<ConsistencyRecord>& here,
                                   const nlohmann::json& rank_0) {
  for (const auto& [what, value, remedy] : here) {
    const std::string there = rank_0.value(what, "unknown");
    if (value != there)
      return what + " is " + value + " here and " + there + " on rank 0; " + remedy;
  }
  return "";
}

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
