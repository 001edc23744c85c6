// How well a model knows given endings: what multiple-choice evaluations compare, and what the
// perplexity of a text is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dist/process_group.h"
#include "engine/model.h"

namespace exprun {

struct Completion {
  std::vector<int64_t> tokens;  // the context, then the ending
  int64_t ending = 0;           // how many of them are the ending
};

// What counts of an ending: no more of it than the model can see.
int64_t counted_tokens(const Completion& completion, int64_t context_length);

// Completions as one batch, padded at the end to one length, which changes nothing. Those longer
// than the model can see lose tokens at their start.
struct PaddedCompletions {
  at::Tensor inputs;   // (B, T), zero after a completion
  at::Tensor targets;  // (B, T), kIgnoredTarget wherever no token of the ending is
};
PaddedCompletions padded(std::span<const Completion> completions, int64_t context_length);

struct CompletionScore {
  double loss = 0;         // nats of the ending, summed over its tokens
  bool is_greedy = false;  // each of its tokens is the one that the model finds most likely
};

// `batch` completions are computed at once; the ranks take the batches in turn, and all get all
// scores. `stops_at` is asked before the first batch and after each round, with how many
// completions are done; nothing is returned where it stops them.
std::optional<std::vector<CompletionScore>> score_completions(
    Model& model, const std::vector<Completion>& completions, int64_t batch, ProcessGroup& group,
    const std::function<bool(size_t)>& stops_at);

}  // namespace exprun
