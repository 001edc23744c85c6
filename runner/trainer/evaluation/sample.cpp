// Text that the model writes after a prompt.
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "base/random.h"
#include "base/utf8.h"
#include "engine/evaluation.h"
#include "engine/sampling.h"

namespace exprun {
namespace {

constexpr const char* kSeparator = "\n---\n";
constexpr int64_t kShortestInput = 16;

struct Settings {
  std::string prompt;
  int64_t tokens = 0;
  double temperature = 0;
  int64_t top_k = 0;
  double top_p = 1;
  int64_t samples = 0;
  std::optional<int64_t> seed;  // else the run's
};

double uniform(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Lengths are powers of two: kernels are chosen by shape, and a causal model does not see the
// padding behind the last token.
int64_t input_length(int64_t tokens, int64_t context_length) {
  int64_t length = kShortestInput;
  while (length < tokens) length *= 2;
  return std::min(length, context_length);
}

at::Tensor next_logits(Model& model, const std::vector<int64_t>& tokens) {
  const auto size = static_cast<int64_t>(tokens.size());
  const int64_t used = std::min(size, model.context_length());
  at::Tensor inputs = at::zeros({1, input_length(used, model.context_length())}, at::kLong);
  std::copy(tokens.end() - used, tokens.end(), inputs.data_ptr<int64_t>());
  return model.logits(inputs.to(model.device())).select(0, 0).select(0, used - 1);
}

class Sample : public Evaluation {
 public:
  Sample(Section section, Settings settings)
      : section_(std::move(section)), settings_(std::move(settings)) {}

  void check(const Dataset&, const Tokenizer* tokenizer) const override {
    if (!tokenizer)
      throw section_.error("prompt", "generating text needs a tokenizer, but this dataset has none",
                           "remove this evaluation");
    if (encoded(*tokenizer).empty())
      throw section_.error("prompt", "the prompt is empty", "a line break, \"\\n\", is enough");
  }

  bool before_training() const override { return false; }

  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    EvaluationResult result;
    for (int64_t index = 0; index < settings_.samples; ++index) {
      const auto written = write(context, index);
      if (!written) return std::nullopt;
      if (!written->problem.empty()) return written;
      result.text += (index > 0 ? kSeparator : "") + written->text;
    }
    return result;
  }

 private:
  std::vector<int64_t> encoded(const Tokenizer& tokenizer) const {
    try {
      const auto tokens = tokenizer.encode_with_special(settings_.prompt);
      return {tokens.begin(), tokens.end()};
    } catch (const Error& error) {
      throw section_.error("prompt", error.what());
    }
  }

  // One text, or why there is none; nothing if a stop was requested.
  std::optional<EvaluationResult> write(const EvaluationContext& context, int64_t index) const {
    std::vector<int64_t> tokens = encoded(*context.tokenizer);
    for (int64_t i = 0; i < settings_.tokens; ++i) {
      context.report({index * settings_.tokens + i, settings_.samples * settings_.tokens});
      const at::Tensor logits = next_logits(context.model, tokens);
      if (!logits.isfinite().all().item<bool>())
        return EvaluationResult{{}, "", "the model has diverged: its logits are NaN or infinite"};
      const auto probabilities =
          token_probabilities(logits, settings_.temperature, settings_.top_k, settings_.top_p);
      const uint64_t bits =
          random_bits({static_cast<uint64_t>(settings_.seed.value_or(context.seed)),
                       random_word("sample"), static_cast<uint64_t>(context.step),
                       static_cast<uint64_t>(index), static_cast<uint64_t>(i)});
      tokens.push_back(draw_token(probabilities, uniform(bits)));
      if (context.stop_requested()) return std::nullopt;
    }
    // Byte tokens may stop inside a character, or write none.
    return EvaluationResult{{}, to_valid_utf8(context.tokenizer->decode(tokens)), ""};
  }

  Section section_;
  Settings settings_;
};

std::unique_ptr<Evaluation> build(const Section& section) {
  return std::make_unique<Sample>(
      section, Settings{section.get<std::string>("prompt"), section.get<int64_t>("tokens"),
                        section.get<double>("temperature"), section.get<int64_t>("top_k"),
                        section.get<double>("top_p"), section.get<int64_t>("samples"),
                        section.find<int64_t>("seed")});
}

const Register<Evaluation> registration{"sample", build};

}  // namespace

}  // namespace exprun
