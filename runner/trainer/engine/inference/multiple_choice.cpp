#include "engine/inference/multiple_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/diagnostic.h"
#include "engine/inference/completion_loss.h"
#include "recipe/key_path.h"
#include "recipe/paths.h"
#include "text/char_tokenizer.h"

namespace exprun {
namespace {

Completion completion_of(const Tokenizer& tokenizer, const std::string& context,
                         const std::string& ending) {
  const auto before = tokenizer.encode(context), behind = tokenizer.encode(ending);
  Completion completion{{}, static_cast<int64_t>(behind.size())};
  if (const auto begin = tokenizer.begin_of_text()) completion.tokens.push_back(*begin);
  completion.tokens.insert(completion.tokens.end(), before.begin(), before.end());
  completion.tokens.insert(completion.tokens.end(), behind.begin(), behind.end());
  return completion;
}

class MultipleChoice final : public Evaluation {
 public:
  MultipleChoice(Section section, ChoiceFile kind)
      : section_(std::move(section)),
        kind_(std::move(kind)),
        name_(split_path(section_.path()).back()),
        path_(section_.get<std::string>("path")),
        limit_(section_.find<int64_t>("examples")) {}

  void check(const Dataset&, const Tokenizer* tokenizer) const override {
    if (!tokenizer)
      throw section_.error("path", kind_.title + " needs a tokenizer, but this dataset has none",
                           "remove this evaluation");
    try {
      completions(*tokenizer);
    } catch (const ChoiceFileError& error) {
      throw section_.error("path", error.what(), error.help);
    } catch (const UnknownCharacter& error) {
      throw section_.error("path", error.what(), kHelpWithUnknownCharacter);
    } catch (const Error& error) {
      throw section_.error("path", error.what());
    }
  }

  std::vector<std::string> metrics() const override {
    return {name_ + "/acc", name_ + "/acc_norm"};
  }

  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    const auto& all = completions(*context.tokenizer);
    const auto scores = score_completions(
        context.model, all, context.micro_batch, *context.group, [&](size_t done) {
          context.report({static_cast<int64_t>(done), static_cast<int64_t>(all.size()), "endings"});
          return done > 0 && context.stop_requested();
        });
    if (!scores) return std::nullopt;
    const auto sum = [&](size_t i) { return (*scores)[i].loss; };
    const auto mean = [&](size_t i) {
      return sum(i) / static_cast<double>(counted_tokens(all[i], context.model.context_length()));
    };
    return EvaluationResult{
        {{name_ + "/acc", accuracy(*scores, sum)}, {name_ + "/acc_norm", accuracy(*scores, mean)}},
        ""};
  }

 private:
  // `loss`: of the i-th ending of all.
  template <class Loss>
  double accuracy(const std::vector<CompletionScore>& scores, const Loss& loss) const {
    size_t right = 0, first = 0;
    for (const ChoiceExample& example : examples_) {
      size_t smallest = 0;
      for (size_t i = 1; i < example.endings.size(); ++i)
        if (loss(first + i) < loss(first + smallest)) smallest = i;
      right += example.endings.size() == 1 ? scores[first].is_greedy : smallest == example.label;
      first += example.endings.size();
    }
    return static_cast<double>(right) / static_cast<double>(examples_.size());
  }

  // Of all endings of all examples, in order; read and encoded once.
  const std::vector<Completion>& completions(const Tokenizer& tokenizer) const {
    if (!completions_.empty()) return completions_;
    examples_ = read_choice_examples(kind_, expand_path(path_, libtorch_folder()), path_, limit_);
    for (size_t i = 0; i < examples_.size(); ++i)
      for (const std::string& ending : examples_[i].endings) {
        completions_.push_back(completion_of(tokenizer, examples_[i].context, ending));
        const Completion& last = completions_.back();  // the first token of all is not predicted
        if (std::min(last.ending, static_cast<int64_t>(last.tokens.size()) - 1) < 1)
          throw Error("example " + std::to_string(i + 1) + " of '" + path_ +
                      "' has an ending without a token to predict");
      }
    return completions_;
  }

  Section section_;
  ChoiceFile kind_;
  std::string name_, path_;
  std::optional<int64_t> limit_;
  mutable std::vector<ChoiceExample> examples_;
  mutable std::vector<Completion> completions_;
};

}  // namespace

std::unique_ptr<Evaluation> make_multiple_choice(const Section& section, ChoiceFile kind) {
  return std::make_unique<MultipleChoice>(section, std::move(kind));
}

}  // namespace exprun
