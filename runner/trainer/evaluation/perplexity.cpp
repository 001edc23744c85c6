// Perplexity of a text file: e to the mean loss of its tokens. Windows of the model's context
// length follow each other, each but the first with the last token of the one before, or more of
// it, as context (the rolling log-likelihood of EleutherAI's lm-evaluation-harness, Gao et al.).
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "engine/evaluation.h"
#include "engine/inference/completion_loss.h"
#include "recipe/key_path.h"
#include "recipe/paths.h"
#include "text/char_tokenizer.h"

namespace exprun {
namespace {

struct TextTokens {
  std::vector<int64_t> tokens;
  int64_t bytes = 0;  // that tokens after the first stand for
};

class Perplexity final : public Evaluation {
 public:
  Perplexity(Section section, std::string path, std::optional<int64_t> stride)
      : section_(std::move(section)),
        name_(split_path(section_.path()).back()),
        path_(std::move(path)),
        stride_(stride) {}

  void check(const Dataset&, const Tokenizer* tokenizer) const override {
    if (!tokenizer)
      throw section_.error("path", "perplexity needs a tokenizer, but this dataset has none",
                           "remove this evaluation");
    if (text(*tokenizer).tokens.size() < 2)
      throw section_.error("path", "'" + path_ + "' has no text to evaluate");
  }

  std::vector<std::string> metrics() const override {
    return {name_ + "/loss", name_ + "/perplexity", name_ + "/bits_per_byte"};
  }

  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    const TextTokens& all = text(*context.tokenizer);
    const auto windows = windows_of(all.tokens, context.model.context_length());
    const auto size = static_cast<size_t>(context.micro_batch);
    const size_t of_round = size * static_cast<size_t>(context.group->world_size());
    const auto tokens = static_cast<int64_t>(all.tokens.size()) - 1;
    std::vector<double> loss{0};
    context.report({0, tokens});
    int64_t done = 0;
    // The ranks take the batches in turn.
    for (size_t round = 0; round < windows.size(); round += of_round) {
      const size_t first = round + size * static_cast<size_t>(context.group->rank());
      if (first < windows.size())
        loss[0] += loss_sum(context.model, std::span(windows).subspan(
                                               first, std::min(size, windows.size() - first)));
      for (size_t i = round; i < std::min(round + of_round, windows.size()); ++i)
        done += windows[i].ending;
      context.report({done, tokens});
      if (context.stop_requested()) return std::nullopt;
    }
    const double sum = sum_over_ranks(*context.group, loss)[0];
    const double mean = sum / static_cast<double>(tokens);
    return EvaluationResult{
        {{name_ + "/loss", mean},
         {name_ + "/perplexity", std::exp(mean)},
         {name_ + "/bits_per_byte", sum / std::numbers::ln2 / static_cast<double>(all.bytes)}},
        ""};
  }

 private:
  static double loss_sum(Model& model, std::span<const Completion> windows) {
    const auto [inputs, targets] = padded(windows, model.context_length());
    return model.loss_sum(inputs.to(model.device()), targets.to(model.device())).item<double>();
  }

  // Every token but the first is predicted once.
  std::vector<Completion> windows_of(const std::vector<int64_t>& tokens, int64_t length) const {
    const int64_t stride = std::min(stride_.value_or(length), length);
    const auto end = static_cast<int64_t>(tokens.size());
    std::vector<Completion> windows;
    for (int64_t predicted = 1; predicted < end;) {
      const int64_t count = std::min(predicted == 1 ? length : stride, end - predicted);
      const int64_t first = std::max<int64_t>(predicted + count - length - 1, 0);
      windows.push_back({{tokens.begin() + first, tokens.begin() + predicted + count}, count});
      predicted += count;
    }
    return windows;
  }

  // Read and encoded once. The first token has nothing before it: where the tokenizer has one that
  // begins texts, or stands between documents, that is the first.
  const TextTokens& text(const Tokenizer& tokenizer) const {
    if (text_) return *text_;
    const std::string name = expand_path(path_, libtorch_folder());
    if (!file_exists(name)) throw section_.error("path", "there is no file '" + name + "'");
    TextTokens read;
    try {
      const std::string text = read_file(name);
      read.bytes = static_cast<int64_t>(text.size());
      const auto begin = tokenizer.begin_of_text();
      if (const auto first = begin ? begin : tokenizer.end_of_text()) read.tokens.push_back(*first);
      const Tokens tokens = tokenizer.encode(text);
      if (read.tokens.empty() && !tokens.empty()) {
        const int64_t first = tokens.front();
        read.bytes -= static_cast<int64_t>(tokenizer.decode({&first, 1}).size());
      }
      read.tokens.insert(read.tokens.end(), tokens.begin(), tokens.end());
    } catch (const UnknownCharacter& error) {
      throw section_.error("path", error.what(), kHelpWithUnknownCharacter);
    } catch (const Error& error) {
      throw section_.error("path", error.what());
    }
    text_ = std::move(read);
    return *text_;
  }

  Section section_;
  std::string name_, path_;
  std::optional<int64_t> stride_;
  mutable std::optional<TextTokens> text_;
};

std::unique_ptr<Evaluation> build(const Section& section) {
  return std::make_unique<Perplexity>(section, section.get<std::string>("path"),
                                      section.find<int64_t>("stride"));
}

const Register<Evaluation> registration{"perplexity", build};

}  // namespace
}  // namespace exprun
