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
  const std::string more =
      needed.besides > 0
          ? ", and rank 0 some " + binary_bytes(needed.besides) + " more for checkpoints"
          : "";
  return lack(
      place_of_size(root, "parallelism.world_size"),
      std::to_string(available.ranks) + " ranks take about " + binary_bytes(needed.each) + " each" +
          more + has,
      (fit == 1 ? "one rank fits" : std::to_string(fit) + " ranks fit") +
          (divides ? "" : "; parallelism.strategy=zero1 divides the optimizer among ranks"));
}

// Less of activations is the way out: of fewer sequences, or of shorter ones.
Diagnostic too_many_activations(const ResolvedRecipe& recipe, const std::string& message,
                                Severity severity = Severity::error) {
  const Table& root = recipe.root();
  const bool single = integer_at(root, "batch.micro_batch") == 1;
  const Value* const recomputes = recipe.find("model.checkpoint_activations");
  const bool could = recomputes && recomputes->as<bool>() && !*recomputes->as<bool>();
  Diagnostic problem =
      lack(place_of_size(root, single ? "batch.sequence_length" : "batch.micro_batch"), message,
           std::string(single ? "shorter sequences take less memory"
                              : "fewer sequences in a micro-batch take less memory") +
               (could ? ", and so does model.checkpoint_activations = true" : ""));
  problem.severity = severity;
  return problem;
}

}  // namespace

Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const AvailableMemory& available) {
  const Table& root = recipe.root();
  const bool several = available.ranks > 1;
  const double of_rank = planned.of_model + planned.activations;
  const double of_ranks = of_rank * static_cast<double>(available.ranks);
  const double of_copy = std::max(0.0, planned.checkpoint_copy - planned.activations);
  const double at_most = of_ranks + planned.checkpoint_copy;
  if (available.bytes == 0 || at_most <= available.bytes) return {};
  const std::string has = ", but " + available.where + " has " + binary_bytes(available.bytes);
  if (of_ranks + of_copy <= available.bytes)
    return {
        too_many_activations(recipe,
                             (several ? "the ranks may take about " : "the run may take about ") +
                                 binary_bytes(at_most) + " while a checkpoint is written" + has,
                             Severity::warning)};
  if (of_rank + of_copy <= available.bytes)
    return {too_many_ranks(root, {of_rank, of_copy}, available, has)};
  const double of_state = planned.of_model + planned.checkpoint_copy;
  const std::string state = planned.checkpoint_copy > 0
                                ? "weights, gradients, optimizer and a copy for checkpoints"
                                : "weights, gradients and optimizer";
  if (of_state > available.bytes)
    return {lack(place_of_size(root, "model.type"),
                 state + (several ? " of one rank" : "") + " take " + binary_bytes(of_state) + has,
                 "use a smaller model")};
  return {too_many_activations(
      recipe,
      (several ? "one rank takes about " : "the run takes about ") + binary_bytes(of_rank) + has)};
}

}  // namespace exprun
