#include "recipe/capacity.h"

#include <algorithm>

#include "base/format_units.h"
#include "recipe/overrides.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {

Diagnostics checkpoint_space_problems(const ResolvedRecipe& recipe, const CheckpointSpace& space) {
  const bool keeps_best = text_at(recipe.root(), "checkpoint.keep_best").value_or("none") != "none";
  const int64_t kept = integer_at(recipe.root(), "checkpoint.keep_last").value_or(0) + keeps_best;
  const int64_t more = std::min(std::max<int64_t>(kept + 1 - space.saved, 1), space.to_come);
  const double needed = static_cast<double>(space.bytes) * static_cast<double>(more);
  if (!space.left || needed <= static_cast<double>(*space.left)) return {};
  const std::string checkpoints =
      more == 1 ? std::string(space.saved == 0 ? "one" : "one more") + " checkpoint takes "
                : std::to_string(more) + (space.saved == 0 ? "" : " more") + " checkpoints take ";
  return {{place_of(recipe.root(), "checkpoint.keep_last"),
           checkpoints + binary_bytes(needed) + ", but the disk of " + space.folder + " has " +
               binary_bytes(static_cast<double>(*space.left)) + " left",
           "free some space, or choose another place with --store"}};
}

namespace {

// The key to change, or another that the command line has changed: of those that decide how much
// memory a rank takes.
SourceSpan place_of_size(const Table& root, const std::string& key) {
  return place_of(
      root, newest_of(root, {key, "batch.sequence_length", "optimizer.type", "model.type",
                             "model.num_layers", "model.hidden_size", "model.feed_forward_size",
                             "model.num_heads", "model.head_dim", "model.num_key_value_heads",
                             "model.context_length", "model.vocab_size"}));
}

struct Needed {
  double each;     // by each rank
  double besides;  // by rank 0
};

Diagnostic too_many_ranks(const Table& root, const Needed& needed, const AvailableMemory& available,
                          const std::string& has) {
  const auto fit = static_cast<int64_t>((available.bytes - needed.besides) / needed.each);
  const bool divides = text_at(root, "parallelism.strategy") == "zero1";
  return lack(
      place_of_size(root, "parallelism.world_size"),
      std::to_string(available.ranks) + " ranks take about " + binary_bytes(needed.each) + " each" +
          has,
      (fit == 1 ? "one rank fits" : std::to_string(fit) + " ranks fit") +
          (divides ? "" : "; parallelism.strategy=zero1 divides the optimizer among ranks"));
}

// Of a model that could compute activations anew instead of keeping them.
std::string with_recomputation(const ResolvedRecipe& recipe) {
  const Value* const recomputes = recipe.find("model.checkpoint_activations");
  const bool could = recomputes && recomputes->as<bool>() && !*recomputes->as<bool>();
  return could ? ", and so does model.checkpoint_activations = true" : "";
}

}  // namespace

Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const AvailableMemory& available) {
  const Table& root = recipe.root();
  const double of_rank = planned.of_model + planned.activations;
  // A copy may be written after the last step: it need not be there together with activations.
  const double of_copy = std::max(0.0, planned.checkpoint_copy - planned.activations);
  const double of_all = of_rank * static_cast<double>(available.ranks) + of_copy;
  if (available.bytes == 0 || of_all <= available.bytes) return {};
  const std::string has = ", but " + available.where + " has " + binary_bytes(available.bytes);
  if (of_rank + of_copy <= available.bytes)
    return {too_many_ranks(root, {of_rank, of_copy}, available, has)};
  const std::string whose = available.ranks > 1 ? " of one rank" : "";
  const double of_state = planned.of_model + planned.checkpoint_copy;
  const std::string state = planned.checkpoint_copy > 0
                                ? "weights, gradients, optimizer and a copy for checkpoints"
                                : "weights, gradients and optimizer";
  if (of_state > available.bytes)
    return {lack(place_of_size(root, "model.type"),
                 state + whose + " take " + binary_bytes(of_state) + has, "use a smaller model")};
  const bool single = integer_at(root, "batch.micro_batch") == 1;
  return {lack(place_of_size(root, single ? "batch.sequence_length" : "batch.micro_batch"),
               (available.ranks > 1 ? "one rank takes about " : "the run takes about ") +
                   binary_bytes(of_rank) + has,
               (single ? "shorter sequences take less memory"
                       : "fewer sequences in a micro-batch take less memory") +
                   with_recomputation(recipe))};
}

}  // namespace exprun
