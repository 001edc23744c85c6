#include "recipe/rules/memory.h"

#include "base/format_units.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

Diagnostic too_many_ranks(const Table& root, double of_rank, const MemoryRoom& room,
                          const std::string& has) {
  const auto fit = static_cast<int64_t>(room.bytes / of_rank);
  const bool divides = text_at(root, "parallelism.strategy") == "zero1";
  return warning(
      place_of(root, "parallelism.world_size"),
      std::to_string(room.ranks) + " ranks take about " + binary_bytes(of_rank) + " each" + has,
      (fit == 1 ? "one rank fits" : std::to_string(fit) + " ranks fit") +
          (divides ? "" : "; parallelism.strategy=zero1 divides the optimizer among ranks"));
}

}  // namespace

Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const MemoryRoom& room) {
  const Table& root = recipe.root();
  const double of_rank = planned.of_model + planned.activations;
  if (room.bytes == 0 || of_rank * static_cast<double>(room.ranks) <= room.bytes) return {};
  const std::string has = ", but " + room.where + " has " + binary_bytes(room.bytes);
  if (of_rank <= room.bytes) return {too_many_ranks(root, of_rank, room, has)};
  const std::string whose = room.ranks > 1 ? " of one rank" : "";
  if (planned.of_model > room.bytes)
    return {warning(place_of(root, "model.type"),
                    "weights, gradients and optimizer" + whose + " take " +
                        binary_bytes(planned.of_model) + has,
                    "use a smaller model")};
  const bool single = integer_at(root, "batch.micro_batch") == 1;
  return {warning(place_of(root, single ? "batch.sequence_length" : "batch.micro_batch"),
                  (room.ranks > 1 ? "one rank takes about " : "the run takes about ") +
                      binary_bytes(of_rank) + has,
                  single ? "shorter sequences take less memory"
                         : "fewer sequences in a micro-batch take less memory")};
}

}  // namespace exprun
