#include "control/launch/machine_limits.h"

#include "base/cores.h"
#include "base/humane.h"
#include "base/memory_use.h"
#include "base/processor.h"
#include "recipe/quantities.h"
#include "recipe/rules.h"

namespace exprun {
namespace {

Diagnostic warning(SourceSpan where, std::string message, std::string help) {
  return {std::move(where), std::move(message), std::move(help), {}, Severity::warning};
}

void check_threads(const Table& root, const Hardware& hardware, Diagnostics& problems) {
  const auto threads = integer_at(root, "run.threads");
  const int64_t ranks = integer_at(root, "parallelism.world_size").value_or(1);
  if (!threads && ranks > hardware.cores)
    problems.push_back(warning(place_of(root, "parallelism.world_size"),
                               std::to_string(ranks) + " ranks on " +
                                   std::to_string(hardware.cores) + " cores wait for each other",
                               "\"auto\" is one"));
  if (!threads || *threads * ranks <= hardware.cores) return;
  problems.push_back(warning(place_of(root, "run.threads"),
                             std::to_string(*threads * ranks) + " threads on " +
                                 std::to_string(hardware.cores) + " cores wait for each other",
                             "\"auto\" takes one a core"));
}

void check_precision(const Table& root, const Hardware& hardware, Diagnostics& problems) {
  const std::string format = text_at(root, "precision.compute").value_or("fp32");
  const SourceSpan where = place_of(root, "precision.compute");
  if (format == "tf32")
    problems.push_back(
        warning(where, "only GPUs have TF32, and runs are on the CPU", "\"fp32\" runs here too"));
  else if (!hardware.processor.empty() && !multiplies_in(format, hardware.processor))
    problems.push_back(warning(where, "this processor has no " + format + " instructions",
                               "it is emulated, slower than fp32"));
}

}  // namespace

Hardware this_hardware() {
  return {own_cores().count(), processor_flags(), memory_use().machine_bytes};
}

Diagnostics machine_problems(const ResolvedRecipe& recipe, const Hardware& hardware) {
  Diagnostics problems;
  check_threads(recipe.root(), hardware, problems);
  check_precision(recipe.root(), hardware, problems);
  return problems;
}

Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const Hardware& hardware) {
  const int64_t ranks = integer_at(recipe.root(), "parallelism.world_size").value_or(1);
  const double of_models = planned.of_model * static_cast<double>(ranks);
  const double all = of_models + planned.activations * static_cast<double>(ranks);
  if (hardware.memory == 0 || all <= hardware.memory) return {};
  const std::string has = ", and this machine has " + binary_bytes(hardware.memory);
  if (of_models > hardware.memory)
    return {warning(place_of(recipe.root(), "model.type"),
                    "weights, gradients and optimizer take " + binary_bytes(of_models) + has,
                    "a smaller model fits")};
  return {warning(place_of(recipe.root(), "batch.micro_batch"),
                  "the run takes about " + binary_bytes(all) + has,
                  "fewer sequences in a micro-batch take less")};
}

}  // namespace exprun
