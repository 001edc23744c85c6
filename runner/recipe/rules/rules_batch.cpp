#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/divisors.h"
#include "recipe/rules/rules.h"

namespace exprun {

void one_size_of_batch(const RuleInput& input, Diagnostics& diagnostics) {
  const bool tokens = find_path(input.root, "batch.tokens") != nullptr;
  const bool sequences = find_path(input.root, "batch.sequences") != nullptr;
  if (tokens && sequences)
    diagnostics.push_back(clash(input.root, {"batch.sequences", "batch.tokens"},
                                "[batch] has both 'tokens' and 'sequences'",
                                "take one of them away"));
  if (!tokens && !sequences && has_table(input.root, "batch"))
    diagnostics.push_back({place_of(input.root, "batch.tokens"),
                           "[batch] needs 'tokens' or 'sequences'",
                           "the size of the global batch"});
}

void tokens_are_whole_sequences(const RuleInput& input, Diagnostics& diagnostics) {
  const auto tokens = positive_at(input.root, "batch.tokens");
  const auto length = sequence_length(input.root);
  if (!tokens || !length || *tokens % *length == 0) return;
  diagnostics.push_back(
      clash(input.root, {"batch.tokens", "batch.sequence_length", "model.context_length"},
            "'tokens' must be a multiple of sequence_length, " + std::to_string(*length),
            near_multiples(*length, *tokens)));
}

void micro_batches_fill_batch(const RuleInput& input, Diagnostics& diagnostics) {
  const auto sequences = batch_sequences(input.root);
  const auto micro = positive_at(input.root, "batch.micro_batch");
  const auto ranks = world_size(input.root);
  if (!sequences || !micro || !ranks) return;
  if (*sequences % *ranks != 0)
    return diagnostics.push_back(
        clash(input.root, {"parallelism.world_size", "batch.sequences", "batch.tokens"},
              "the global batch of " + std::to_string(*sequences) +
                  " sequences cannot be shared by " + std::to_string(*ranks) + " ranks",
              near_divisors(*sequences, *ranks)));
  const int64_t share = *sequences / *ranks;
  if (share % *micro == 0) return;
  const std::string whole = *ranks == 1 ? "the global batch of " : "a rank's share of the batch, ";
  diagnostics.push_back(
      clash(input.root,
            {"batch.micro_batch", "batch.sequences", "batch.tokens", "parallelism.world_size"},
            "'micro_batch' must divide " + whole + std::to_string(share) + " sequences",
            near_divisors(share, *micro)));
}

void batch_is_within_an_epoch(const RuleInput& input, Diagnostics& diagnostics) {
  const int64_t epoch = tokens_per_epoch(input.root, input.facts);
  const auto tokens = batch_tokens(input.root);
  if (epoch == 0 || !tokens || *tokens <= epoch) return;
  const bool sequences = integer_at(input.root, "batch.sequences").has_value();
  diagnostics.push_back(
      {place_of(input.root, sequences ? "batch.sequences" : "batch.tokens"),
       "one step takes " + std::to_string(*tokens) + " tokens, more than the training data have",
       "an epoch is " + std::to_string(epoch) + " tokens",
       {},
       Severity::warning});
}

void sequence_fits_context(const RuleInput& input, Diagnostics& diagnostics) {
  const auto length = integer_at(input.root, "batch.sequence_length");
  const auto context = integer_at(input.root, "model.context_length");
  if (!length || !context || *length <= *context) return;
  diagnostics.push_back(clash(
      input.root, {"batch.sequence_length", "model.context_length"},
      "'sequence_length' must be <= the model's context_length, " + std::to_string(*context)));
}

}  // namespace exprun
