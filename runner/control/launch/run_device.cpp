#include "control/launch/run_device.h"

#include "base/log.h"
#include "control/launch/ranks/ranks.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

std::string wanted(const ResolvedRecipe& recipe) {
  return recipe.section("run").get<std::string>("device");
}

bool lacks_gpus(const ResolvedRecipe& recipe, const GpuOffer& offer, bool joined) {
  return !joined && world_size(recipe) > static_cast<int>(offer.gpus.size());
}

std::string too_many_ranks(const ResolvedRecipe& recipe, const GpuOffer& offer) {
  const size_t gpus = offer.gpus.size();
  return std::to_string(world_size(recipe)) + " ranks want a GPU each, and " +
         (gpus == 1 ? "one" : std::to_string(gpus)) + " can be used";
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

Diagnostics gpu_problems(const ResolvedRecipe& recipe, const GpuOffer& offer, bool joined,
                         Severity severity) {
  if (wanted(recipe) != "cuda") return {};
  if (!offer.is_usable())
    return {{place_of(recipe.root(), "run.device"), offer.problem, offer.remedy, {}, severity}};
  if (!lacks_gpus(recipe, offer, joined)) return {};
  return {{place_of(recipe.root(), "parallelism.world_size"),
           too_many_ranks(recipe, offer),
           "\"auto\" is one rank a GPU",
           {},
           severity}};
}

TrainerKind trainer_kind(const ResolvedRecipe& recipe, const GpuOffer& offer, bool joined) {
  if (joined) return offer.is_usable() ? TrainerKind::cuda : TrainerKind::cpu;
  if (wanted(recipe) == "cpu" || offer.gpus.empty()) return TrainerKind::cpu;
  const std::string why = !offer.is_usable()                 ? offer.problem
                          : lacks_gpus(recipe, offer, false) ? too_many_ranks(recipe, offer)
                                                             : "";
  if (why.empty()) return TrainerKind::cuda;
  log_warning("gpu: " + why + ": the run trains on the CPU");
  return TrainerKind::cpu;
}

RecipeText with_a_rank_a_gpu(RecipeText text, const GpuOffer& offer) {
  if (!offer.is_usable()) return text;
  const Judgement judgement = judge(text);
  const ResolvedRecipe& recipe = judgement.recipe;
  if (has_errors(judgement.diagnostics) || wanted(recipe) == "cpu") return text;
  if (recipe.find("parallelism.world_size")->as<int64_t>()) return text;
  auto ranks = static_cast<int64_t>(offer.gpus.size());
  while (!can_share(recipe, ranks) && ranks > 1) --ranks;
  return ranks > 1 ? with_world_size(std::move(text), static_cast<int>(ranks)) : text;
}

}  // namespace exprun
