// Mean cross entropy over a fixed set of validation tokens, from the start of the split.
#include <algorithm>

#include "engine/evaluation.h"

namespace exprun {

namespace {

class ValidationLoss : public Evaluation {
 public:
  // `tokens`: 0 means the whole split.
  ValidationLoss(Section section, int64_t tokens) : section_(std::move(section)), tokens_(tokens) {}

  void check(const Dataset& dataset, const Tokenizer*) const override {
    if (dataset.samples_per_epoch(Split::validation) == 0)
      throw section_.error("tokens", "there is no validation data for one sequence",
                           "give the dataset a validation part, or remove this evaluation");
  }

  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    const int64_t samples = sample_count(context);
    double loss_sum = 0, valid_tokens = 0;
    for (int64_t first = 0; first < samples; first += context.micro_batch) {
      Batch batch =
          context.read(Split::validation, first, std::min(context.micro_batch, samples - first));
      if (tokens_ > 0) ignore_behind(batch.targets, tokens_ - first * context.sequence_length);
      loss_sum += context.model.loss_sum(batch.inputs, batch.targets).item<double>();
      valid_tokens += batch.targets.ne(kIgnoredTarget).sum().item<double>();
      if (context.stop_requested()) return std::nullopt;
    }
    return EvaluationResult{{{"val/loss", loss_sum / valid_tokens}}, ""};
  }

 private:
  int64_t sample_count(const EvaluationContext& context) const {
    const int64_t all = context.dataset.samples_per_epoch(Split::validation);
    if (tokens_ == 0) return all;
    const int64_t needed = (tokens_ + context.sequence_length - 1) / context.sequence_length;
    return std::min(needed, all);
  }

  // Exactly so many tokens: of the last sequence a part may be too much.
  static void ignore_behind(at::Tensor& targets, int64_t tokens) {
    if (tokens >= targets.numel()) return;
    targets = targets.clone();
    targets.view({-1}).slice(0, tokens).fill_(kIgnoredTarget);
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
