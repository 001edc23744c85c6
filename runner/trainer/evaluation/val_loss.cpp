// Mean cross entropy over a fixed set of validation tokens, from the start of the split; the whole
// split to its last token, in a sequence that is not full.
#include <algorithm>

#include "engine/evaluation.h"

namespace exprun {
namespace {

constexpr int64_t kFewestTokens = 1024;  // of a forward pass: with fewer, calls cost more than sums

class ValidationLoss : public Evaluation {
 public:
  // `tokens`: 0 means the whole split.
  ValidationLoss(Section section, int64_t tokens) : section_(std::move(section)), tokens_(tokens) {}

  void check(const Dataset& dataset, const Tokenizer*) const override {
    if (dataset.samples_per_epoch(Split::validation) == 0)
      throw section_.error("tokens", "the validation data does not fill one sequence",
                           "add validation data to the dataset, or remove this evaluation");
  }

  std::vector<std::string> metrics() const override { return {"val/loss"}; }

  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    const int64_t samples = sample_count(context);
    const int64_t size = std::max(context.micro_batch, kFewestTokens / context.sequence_length);
    const int64_t ranks = context.group->world_size();
    std::vector<double> loss_and_tokens{0, 0};
    const auto targets = [&](int64_t first) { return context.dataset.validation_targets(first); };
    context.report({0, targets(samples)});
    // The ranks take the batches in turn.
    for (int64_t round = 0; round < samples; round += size * ranks) {
      const int64_t first = round + size * context.group->rank();
      if (first < samples)
        add_batch(loss_and_tokens, context, first, std::min(size, samples - first));
      context.report({targets(std::min(round + size * ranks, samples)), targets(samples)});
      if (context.stop_requested()) return std::nullopt;
    }
    const auto sums = sum_over_ranks(*context.group, loss_and_tokens);
    return EvaluationResult{{{"val/loss", sums[0] / sums[1]}}, ""};
  }

 private:
  void add_batch(std::vector<double>& loss_and_tokens, const EvaluationContext& context,
                 int64_t first, int64_t count) const {
    Batch batch = context.read(Split::validation, first, count);
    if (tokens_ > 0)
      ignore_behind(batch.targets, tokens_ - context.dataset.validation_targets(first));
    loss_and_tokens[0] += loss_sum_of(context.model, batch).item<double>();
    loss_and_tokens[1] += batch.targets.ne(kIgnoredTarget).sum().item<double>();
  }

  int64_t sample_count(const EvaluationContext& context) const {
    const int64_t all = context.dataset.samples_per_epoch(Split::validation);
    if (tokens_ == 0) return all;
    const auto has_enough = [&](int64_t samples) {
      return context.dataset.validation_targets(samples) >= tokens_;
    };
    int64_t few = 0, enough = all;  // bisection
    while (few < enough) {
      const int64_t middle = few + (enough - few) / 2;
      has_enough(middle) ? enough = middle : few = middle + 1;
    }
    return enough;
  }

  // Exactly so many that count: of the last sequence a part may be too much.
  static void ignore_behind(at::Tensor& targets, int64_t tokens) {
    if (tokens >= targets.numel()) return;
    const at::Tensor counted = targets.ne(kIgnoredTarget).view({-1}).cumsum(0).view_as(targets);
    targets = targets.masked_fill(counted.gt(tokens), kIgnoredTarget);
  }

  Section section_;
  int64_t tokens_;
};

std::unique_ptr<Evaluation> build(const Section& section) {
  return std::make_unique<ValidationLoss>(section, section.find<int64_t>("tokens").value_or(0));
}

const Register<Evaluation> registration{"val_loss", build};

}  // namespace

}  // namespace exprun
