#include "control/launch/run_device.h"

#include <cstdint>
#include <cstdlib>

#include "base/log.h"
#include "base/machine/gpus.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/trainer_program.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

constexpr const char* kOnCpu = "run.device=cpu trains on the CPU";

std::string visible_list() {
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  return list ? std::string(" (CUDA_VISIBLE_DEVICES is '") + list + "')" : "";
}

// A driver runs the programs of its own major version of CUDA, and of all before.
bool runs(const std::string& driver_cuda, const std::string& needed) {
  return std::atoi(driver_cuda.c_str()) >= std::atoi(needed.c_str());
}

GpuOffer refused(std::vector<Gpu> gpus, std::string problem, std::string remedy) {
  return {std::move(gpus), std::move(problem), std::move(remedy)};
}

GpuOffer look() {
  const auto nvml = Nvml::open();
  if (!nvml) return refused({}, "this machine has no NVIDIA driver", kOnCpu);
  std::vector<Gpu> gpus;
  for (const size_t i : visible_gpus(nvml->gpus(), std::getenv("CUDA_VISIBLE_DEVICES")))
    gpus.push_back(nvml->gpus()[i]);
  if (gpus.empty())
    return refused({}, "there is no GPU that this process may use" + visible_list(), kOnCpu);
  const std::string driver_cuda = nvml->cuda_version();
  if (!runs(driver_cuda, needed_cuda()))
    return refused(std::move(gpus),
                   "NVIDIA driver " + nvml->driver_version() + " supports CUDA up to " +
                       driver_cuda + ", but exprun-trainer-cuda needs " + needed_cuda(),
                   std::string("install a newer driver; ") + kOnCpu);
  if (!has_cuda_trainer())
    return refused(std::move(gpus), "exprun-trainer-cuda is missing",
                   std::string("tools/exprun builds it next to exprun; ") + kOnCpu);
  return {std::move(gpus), "", ""};
}

}  // namespace

// The driver takes its time to answer.
const GpuOffer& gpu_offer() {
  static const GpuOffer offer = look();
  return offer;
}

namespace {

std::string wanted(const ResolvedRecipe& recipe) {
  return recipe.section("run").get<std::string>("device");
}

bool lacks_gpus(const ResolvedRecipe& recipe, const GpuOffer& offer, bool ranks_elsewhere) {
  return !ranks_elsewhere && world_size(recipe) > static_cast<int>(offer.gpus.size());
}

std::string too_many_ranks(const ResolvedRecipe& recipe, const GpuOffer& offer) {
  const size_t gpus = offer.gpus.size();
  return std::to_string(world_size(recipe)) + " ranks need a GPU each, but only " +
         (gpus == 1 ? "one" : std::to_string(gpus)) + " can be used";
}

// What keeps a run whose ranks are all here from GPUs; empty if nothing does.
std::string why_none(const ResolvedRecipe& recipe, const GpuOffer& offer) {
  if (!offer.is_usable()) return offer.problem;
  return lacks_gpus(recipe, offer, false) ? too_many_ranks(recipe, offer) : "";
}

// A rank's share of the batch is made of whole micro-batches.
bool can_share(const ResolvedRecipe& recipe, int64_t ranks) {
  const auto sequences = batch_sequences(recipe.root());
  if (!sequences || *sequences % ranks != 0) return false;
  const Value* micro = recipe.find("batch.micro_batch");
  if (micro->origin == Origin::derived || !micro->as<int64_t>()) return true;
  return *sequences / ranks % *micro->as<int64_t>() == 0;
}

}  // namespace

Diagnostics gpu_problems(const ResolvedRecipe& recipe, const GpuOffer& offer,
                         bool ranks_elsewhere) {
  if (wanted(recipe) != "cuda") return {};
  if (!offer.is_usable())
    return {{place_of(recipe.root(), "run.device"), offer.problem, offer.remedy}};
  if (!lacks_gpus(recipe, offer, ranks_elsewhere)) return {};
  return {clash(recipe.root(), {"parallelism.world_size", "run.device"},
                too_many_ranks(recipe, offer), "\"auto\" is one rank per GPU")};
}

TrainerKind trainer_kind(const ResolvedRecipe& recipe, const GpuOffer& offer,
                         bool ranks_elsewhere) {
  if (ranks_elsewhere) return offer.is_usable() ? TrainerKind::cuda : TrainerKind::cpu;
  if (!trains_on_cpu(recipe, offer)) return TrainerKind::cuda;
  if (wanted(recipe) != "cpu" && !offer.gpus.empty())
    log_warning("gpu: " + why_none(recipe, offer) + ": the run trains on the CPU");
  return TrainerKind::cpu;
}

bool trains_on_cpu(const ResolvedRecipe& recipe, const GpuOffer& offer) {
  const std::string device = wanted(recipe);
  return device == "cpu" || (device == "auto" && !why_none(recipe, offer).empty());
}

RecipeText with_a_rank_a_gpu(RecipeText text, const GpuOffer& offer) {
  if (!offer.is_usable()) return text;
  const Resolution resolution = try_resolve(text);
  const ResolvedRecipe& recipe = resolution.recipe;
  if (has_errors(resolution.diagnostics) || wanted(recipe) == "cpu") return text;
  if (recipe.find("parallelism.world_size")->as<int64_t>()) return text;
  auto ranks = static_cast<int64_t>(offer.gpus.size());
  while (!can_share(recipe, ranks) && ranks > 1) --ranks;
  return ranks > 1 ? with_world_size(std::move(text), static_cast<int>(ranks)) : text;
}

}  // namespace exprun
