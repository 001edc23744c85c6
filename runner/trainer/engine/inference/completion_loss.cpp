#include "engine/inference/completion_loss.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace exprun {
namespace {

int64_t row_length(const Completion& completion, int64_t context_length) {
  return std::min(static_cast<int64_t>(completion.tokens.size()) - 1, context_length);
}

// (B, T, V), (B, T) -> of each row.
std::vector<CompletionScore> row_scores(const at::Tensor& logits, const at::Tensor& targets) {
  std::vector<CompletionScore> scores;
  for (int64_t row = 0; row < logits.size(0); ++row) {
    const auto counted = targets[row].ne(kIgnoredTarget).nonzero().squeeze(-1);
    const auto known = logits[row].index_select(0, counted).to(at::kFloat).log_softmax(-1);
    const auto wanted = targets[row].index_select(0, counted).unsqueeze(-1);
    scores.push_back({-known.gather(-1, wanted).sum(at::kDouble).item<double>(),
                      known.argmax(-1).eq(wanted.squeeze(-1)).all().item<bool>()});
  }
  return scores;
}

}  // namespace

int64_t counted_tokens(const Completion& completion, int64_t context_length) {
  return std::min(completion.ending, row_length(completion, context_length));
}

PaddedCompletions padded(std::span<const Completion> completions, int64_t context_length) {
  int64_t longest = 1;
  for (const Completion& completion : completions)
    longest = std::max(longest, row_length(completion, context_length));
  const auto rows = static_cast<int64_t>(completions.size());
  PaddedCompletions batch{at::zeros({rows, longest}, at::kLong),
                          at::full({rows, longest}, kIgnoredTarget, at::kLong)};
  auto* inputs = batch.inputs.mutable_data_ptr<int64_t>();
  auto* targets = batch.targets.mutable_data_ptr<int64_t>();
  for (const Completion& completion : completions) {
    const int64_t length = row_length(completion, context_length);
    const int64_t counted = counted_tokens(completion, context_length);
    std::copy(completion.tokens.end() - length - 1, completion.tokens.end() - 1, inputs);
    std::copy(completion.tokens.end() - counted, completion.tokens.end(),
              targets + length - counted);
    inputs += longest;
    targets += longest;
  }
  return batch;
}

std::optional<std::vector<CompletionScore>> score_completions(
    Model& model, const std::vector<Completion>& completions, int64_t batch, ProcessGroup& group,
    const std::function<bool(size_t)>& stops_at) {
  const size_t all = completions.size(), size = static_cast<size_t>(batch);
  const size_t of_round = size * static_cast<size_t>(group.world_size());
  std::vector<double> sums(2 * all, 0.0);  // losses, then whether greedy: of other ranks, zero
  if (stops_at(0)) return std::nullopt;
  for (size_t round = 0; round < all; round += of_round) {
    const size_t first = round + size * static_cast<size_t>(group.rank());
    if (first < all) {
      const auto own = std::span(completions).subspan(first, std::min(size, all - first));
      const auto [inputs, targets] = padded(own, model.context_length());
      const auto scores =
          row_scores(model.logits(inputs.to(model.device())), targets.to(model.device()));
      for (size_t i = 0; i < scores.size(); ++i) {
        sums[first + i] = scores[i].loss;
        sums[all + first + i] = scores[i].is_greedy ? 1 : 0;
      }
    }
    if (stops_at(std::min(round + of_round, all))) return std::nullopt;
  }
  sums = sum_over_ranks(group, sums);
  std::vector<CompletionScore> scores;
  for (size_t i = 0; i < all; ++i) scores.push_back({sums[i], sums[all + i] > 0});
  return scores;
}

}  // namespace exprun
