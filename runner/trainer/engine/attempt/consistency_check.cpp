#include "engine/attempt/consistency_check.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/process/program.h"
#include "engine/device/numeric_environment.h"
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
  all.push_back({"LibTorch", numeric_environment().libtorch, kInstall});
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

}  // namespace exprun
