#include "engine/attempt/evidence.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/hash.h"
#include "base/manifest.h"
#include "base/program.h"
#include "engine/device/machine.h"
#include "text/shard_sample.h"

namespace exprun {

namespace {

constexpr const char* kInstall = "install the same exprun and LibTorch on all machines";
constexpr const char* kSameRecipe = "give all ranks the same recipe and the same key=value";
constexpr const char* kSameFiles = "give all machines the same files";

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
  if (self.empty()) throw Error("/proc/self/exe cannot be read");
  return self.parent_path() / "exprun-trainer";
}

}  // namespace

std::vector<Evidence> evidence(const std::string& recipe_hash, const PreparedData& data,
                               const std::optional<std::filesystem::path>& checkpoint) {
  std::vector<Evidence> all;
  all.push_back(
      {"the program", value_or_reason([] { return hash_file_hex(program()); }), kInstall});
  all.push_back({"LibTorch", this_machine().libtorch, kInstall});
  all.push_back({"the recipe", recipe_hash, kSameRecipe});
  for (const auto* split : {&data.train, &data.validation})
    for (const TokenShard& shard : *split)
      all.push_back({"token shard '" + shard.path + "'",
                     value_or_reason([&] { return sampled_hash(shard); }), kSameFiles});
  if (checkpoint)
    all.push_back({"checkpoint '" + checkpoint->string() + "'",
                   value_or_reason([&] { return hash_file_hex(*checkpoint / kManifestName); }),
                   kSameFiles});
  return all;
}

nlohmann::json to_json(const std::vector<Evidence>& evidence) {
  nlohmann::json values = nlohmann::json::object();
  for (const Evidence& one : evidence) values[one.what] = one.value;
  return values;
}

std::string difference_from_rank_0(const std::vector<Evidence>& here,
                                   const nlohmann::json& rank_0) {
  for (const auto& [what, value, remedy] : here) {
    const std::string there = rank_0.value(what, "unknown");
    if (value != there)
      return what + " is " + value + " here and " + there + " on rank 0: " + remedy;
  }
  return "";
}

}  // namespace exprun
