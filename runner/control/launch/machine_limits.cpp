#include "control/launch/machine_limits.h"

#include <algorithm>

#include "base/counted.h"
#include "base/humane.h"
#include "base/machine/cores.h"
#include "base/machine/memory_use.h"
#include "base/machine/processor.h"
#include "control/launch/run_device.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

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
                                   counted(hardware.cores, "core") + " wait for each other",
                               hardware.cores == 1
                                   ? "one has it for itself"
                                   : std::to_string(hardware.cores) + " have a core each"));
  if (!threads || *threads * ranks <= hardware.cores) return;
  const std::string of_ranks = ranks > 1 ? std::to_string(ranks) + " ranks of " : "";
  problems.push_back(warning(place_of(root, "run.threads"),
                             of_ranks + counted(*threads, "thread") + " on " +
                                 counted(hardware.cores, "core") + " wait for each other",
                             "\"auto\" takes one a core"));
}

// Where nothing else is said, GPUs are taken if they can be.
bool trains_on_cpu(const Table& root, const Hardware& hardware) {
  const std::string device = text_at(root, "run.device").value_or("auto");
  return device == "cpu" || (device == "auto" && !hardware.gpus.is_usable());
}

void check_precision(const Table& root, const Hardware& hardware, Diagnostics& problems) {
  const std::string format = text_at(root, "precision.compute").value_or("fp32");
  const SourceSpan where = place_of(root, "precision.compute");
  if (!trains_on_cpu(root, hardware)) return;
  if (format == "tf32")
    problems.push_back(warning(where, "only GPUs have TF32, and this run would be on the CPU",
                               "\"fp32\" runs here too"));
  else if (!hardware.processor.empty() && !multiplies_in(format, hardware.processor))
    problems.push_back(warning(where, "this processor has no " + format + " instructions",
                               "it is emulated, slower than fp32"));
}

// Memory, and the ranks that share it.
struct Room {
  const char* where;
  double bytes, ranks;
};

Room room_for(const Table& root, const Hardware& hardware) {
  if (!trains_on_cpu(root, hardware) && !hardware.gpus.gpus.empty()) {
    int64_t least = hardware.gpus.gpus.front().memory_bytes;
    for (const Gpu& gpu : hardware.gpus.gpus) least = std::min(least, gpu.memory_bytes);
    return {"a GPU", static_cast<double>(least), 1};
  }
  const int64_t ranks = integer_at(root, "parallelism.world_size").value_or(1);
  return {"this machine", hardware.memory, static_cast<double>(ranks)};
}

Diagnostic too_many_ranks(const Table& root, double of_rank, const Room& room,
                          const std::string& has) {
  const auto fit = static_cast<int64_t>(room.bytes / of_rank);
  const bool divides = text_at(root, "parallelism.strategy") == "zero1";
  return warning(place_of(root, "parallelism.world_size"),
                 std::to_string(static_cast<int64_t>(room.ranks)) + " ranks take about " +
                     binary_bytes(of_rank) + " each" + has,
                 (fit == 1 ? "one fits" : std::to_string(fit) + " fit") +
                     (divides ? "" : "; parallelism.strategy=zero1 divides the optimizer"));
}

}  // namespace

Hardware this_hardware() {
  return {own_cores().count(), processor_flags(), memory_use().machine_bytes, gpu_offer()};
}

Diagnostics machine_problems(const ResolvedRecipe& recipe, const Hardware& hardware) {
  Diagnostics problems = gpu_problems(recipe, hardware.gpus, false, Severity::warning);
  check_threads(recipe.root(), hardware, problems);
  check_precision(recipe.root(), hardware, problems);
  return problems;
}

Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const Hardware& hardware) {
  const Table& root = recipe.root();
  const Room room = room_for(root, hardware);
  const double of_rank = planned.of_model + planned.activations;
  if (room.bytes == 0 || of_rank * room.ranks <= room.bytes) return {};
  const std::string has = ", and " + std::string(room.where) + " has " + binary_bytes(room.bytes);
  if (of_rank <= room.bytes) return {too_many_ranks(root, of_rank, room, has)};
  const std::string whose = room.ranks > 1 ? " of one rank" : "";
  if (planned.of_model > room.bytes)
    return {warning(place_of(root, "model.type"),
                    "weights, gradients and optimizer" + whose + " take " +
                        binary_bytes(planned.of_model) + has,
                    "a smaller model fits")};
  const bool single = integer_at(root, "batch.micro_batch") == 1;
  return {warning(
      place_of(root, single ? "batch.sequence_length" : "batch.micro_batch"),
      (room.ranks > 1 ? "one rank takes about " : "the run takes about ") + binary_bytes(of_rank) +
          has,
      single ? "shorter sequences take less" : "fewer sequences in a micro-batch take less")};
}

}  // namespace exprun
