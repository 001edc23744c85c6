#include "engine/completion_loss.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <span>

namespace exprun {
namespace {

struct Padded {
  at::Tensor inputs;   // (B, T), zero behind a completion
  at::Tensor targets;  // (B, T), kIgnoredTarget wherever no token of the ending is
};

int64_t row_length(const Completion& completion, int64_t context_length) {
  return std::min(static_cast<int64_t>(completion.tokens.size()) - 1, context_length);
}

Padded padded(std::span<const Completion> completions, int64_t context_length) {
  int64_t longest = 1;
  for (const Completion& completion : completions)
    longest = std::max(longest, row_length(completion, context_length));
  const auto rows = static_cast<int64_t>(completions.size());
  Padded batch{at::zeros({rows, longest}, at::kLong),
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

// (B, T, V), (B, T) -> the sum of each row.
std::vector<double> row_losses(const at::Tensor& logits, const at::Tensor& targets) {
  std::vector<double> losses;
  for (int64_t row = 0; row < logits.size(0); ++row) {
    const auto counted = targets[row].ne(kIgnoredTarget).nonzero().squeeze(-1);
    const auto known = logits[row].index_select(0, counted).to(at::kFloat).log_softmax(-1);
    const auto wanted = targets[row].index_select(0, counted).unsqueeze(-1);
    losses.push_back(-known.gather(-1, wanted).sum(at::kDouble).item<double>());
  }
  return losses;
}

}  // namespace

int64_t counted_tokens(const Completion& completion, int64_t context_length) {
  return std::min(completion.ending, row_length(completion, context_length));
}

std::optional<std::vector<double>> completion_losses(Model& model,
                                                     const std::vector<Completion>& completions,
                                                     int64_t batch,
                                                     const std::function<bool(size_t)>& stops_at) {
  std::vector<double> losses;
  if (stops_at(0)) return std::nullopt;
  for (size_t first = 0; first < completions.size(); first += static_cast<size_t>(batch)) {
    const size_t count = std::min(static_cast<size_t>(batch), completions.size() - first);
    const auto [inputs, targets] =
        padded(std::span(completions).subspan(first, count), model.context_length());
    const auto of_batch =
        row_losses(model.logits(inputs.to(model.device())), targets.to(model.device()));
    losses.insert(losses.end(), of_batch.begin(), of_batch.end());
    if (stops_at(losses.size())) return std::nullopt;
  }
  return losses;
}

}  // namespace exprun
