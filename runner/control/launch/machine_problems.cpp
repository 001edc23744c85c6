#include "control/launch/machine_problems.h"

#include <algorithm>

#include "base/machine/gpus.h"
#include "base/machine/processor.h"
#include "base/machine/system_usage.h"
#include "base/strings.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

void check_threads(const Table& root, const Hardware& hardware, Diagnostics& problems) {
  const auto threads = integer_at(root, "run.threads");
  const int64_t ranks = integer_at(root, "parallelism.world_size").value_or(1);
  if (!threads && ranks > hardware.cores)
    problems.push_back(warning(
        place_of(root, "parallelism.world_size"),
        std::to_string(ranks) + " ranks must take turns on " + pluralize(hardware.cores, "core"),
        hardware.cores == 1 ? "one would have the core to itself"
                            : std::to_string(hardware.cores) + " would have a core each"));
  if (!threads || *threads * ranks <= hardware.cores) return;
  const std::string of_ranks = ranks > 1 ? std::to_string(ranks) + " ranks of " : "";
  problems.push_back(clash(root, {"run.threads", "parallelism.world_size"},
                           of_ranks + pluralize(*threads, "thread") + " must take turns on " +
                               pluralize(hardware.cores, "core"),
                           "\"auto\" takes one per core", Severity::warning));
}

void check_precision(const ResolvedRecipe& recipe, const Hardware& hardware,
                     Diagnostics& problems) {
  const Table& root = recipe.root();
  const std::string format = text_at(root, "precision.compute").value_or("fp32");
  const std::vector<std::string> keys = {"precision.compute", "run.device"};
  if (!trains_on_cpu(recipe, hardware.gpus)) return;
  if (format == "tf32")
    problems.push_back(clash(root, keys,
                             "TF32 exists only on GPUs, but this run would train on the CPU",
                             "\"fp32\" also runs here"));
  else if (!hardware.processor.empty() && !multiplies_in(format, hardware.processor))
    problems.push_back(clash(root, keys, "this processor has no " + format + " instructions",
                             "it is emulated, which is slower than fp32", Severity::warning));
}

AvailableMemory available_memory(const ResolvedRecipe& recipe, const Hardware& hardware) {
  if (!trains_on_cpu(recipe, hardware.gpus) && !hardware.gpus.gpus.empty()) {
    int64_t least = hardware.gpus.gpus.front().memory_bytes;
    for (const Gpu& gpu : hardware.gpus.gpus) least = std::min(least, gpu.memory_bytes);
    return {"a GPU", static_cast<double>(least), 1};
  }
  return {"this machine", hardware.memory, world_size(recipe)};
}

}  // namespace

Hardware this_hardware() {
  return {own_cores().count(), processor_flags(), memory_use().machine_bytes, gpu_offer()};
}

Diagnostics machine_problems(const ResolvedRecipe& recipe, const Hardware& hardware) {
  Diagnostics problems = gpu_problems(recipe, hardware.gpus, false);
  check_threads(recipe.root(), hardware, problems);
  check_precision(recipe, hardware, problems);
  return problems;
}

Diagnostics evaluation_problems(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info,
                                double flops_per_token, const Hardware& hardware) {
  // Some ten seconds of two cores, and of a GPU.
  const double noticeable = trains_on_cpu(recipe, hardware.gpus) ? 1e12 : 1e15;
  return long_evaluations({recipe.schemas(), recipe.root(), dataset_info}, [&](double tokens) {
    return tokens < kNoticeableTokens && tokens * flops_per_token * kForwardShare >= noticeable;
  });
}

Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const Hardware& hardware) {
  return memory_problems(recipe, planned, available_memory(recipe, hardware));
}

}  // namespace exprun
