#include "engine/device/thread_count.h"

#include "engine/run_plan.h"

namespace exprun {
namespace {

// Operations of a forward and backward pass that are worth more than one thread: with fewer,
// threads wait for each other as long as they compute, and ten times as long where other programs
// use their cores.
constexpr double kWorthThreads = 4e8;

bool is_worth_threads(const ResolvedRecipe& recipe, const Model& model) {
  const BatchShape batch = batch_shape(recipe);
  const auto tokens = static_cast<double>(batch.micro_batch * batch.sequence_length);
  return tokens * model.flops_per_token(batch.sequence_length) >= kWorthThreads;
}

}  // namespace

int thread_count(const ResolvedRecipe& recipe, const Model& model, at::Device device, int cores) {
  const auto* const threads = recipe.find("run.threads")->as<int64_t>();
  if (threads) return static_cast<int>(*threads);
  return !device.is_cpu() || is_worth_threads(recipe, model) ? cores : 1;
}

}  // namespace exprun
