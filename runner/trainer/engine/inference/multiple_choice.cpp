#include "engine/inference/multiple_choice.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "engine/inference/completion_loss.h"
#include "recipe/key_path.h"
#include "recipe/paths.h"
#include "text/char_tokenizer.h"

namespace exprun {
namespace {

using nlohmann::json;

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
  MultipleChoice(Section section, ChoiceFile file)
      : section_(std::move(section)),
        file_(std::move(file)),
        name_(split_path(section_.path()).back()),
        path_(section_.get<std::string>("path")),
        limit_(section_.find<int64_t>("examples")) {}

  void check(const Dataset&, const Tokenizer* tokenizer) const override {
    if (!tokenizer)
      throw section_.error("path", file_.title + " needs a tokenizer, but this dataset has none",
                           "remove this evaluation");
    try {
      completions(*tokenizer);
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

  RecipeError unreadable(int64_t line, const std::string& what) const {
    return section_.error("path", "line " + std::to_string(line) + " of '" + path_ + "' " + what,
                          file_.form);
  }

  ChoiceExample parse(const std::string& text, int64_t line) const try {
    ChoiceExample example = file_.parse(parse_json<json>(text), line);
    if (example.label >= example.endings.size())
      throw Error("has a label that refers to none of its endings");
    return example;
  } catch (const json::exception&) {
    throw unreadable(line, "is not a " + file_.title + " example");
  } catch (const Error& error) {
    throw unreadable(line, error.what());
  }

  void read() const {
    const std::string name = expand_path(path_, libtorch_folder());
    std::ifstream file;
    if (file_exists(name)) file.open(name);
    if (!file.is_open())
      throw section_.error("path", "there is no file '" + name + "'", file_.remedy);
    std::string line;
    for (int64_t number = 1; std::getline(file, line); ++number) {
      if (limit_ && static_cast<int64_t>(examples_.size()) == *limit_) break;
      if (!line.empty()) examples_.push_back(parse(line, number));
    }
    if (examples_.empty()) throw section_.error("path", "'" + path_ + "' has no examples");
  }

  // Of all endings of all examples, in order; read and encoded once.
  const std::vector<Completion>& completions(const Tokenizer& tokenizer) const {
    if (!completions_.empty()) return completions_;
    read();
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
  ChoiceFile file_;
  std::string name_, path_;
  std::optional<int64_t> limit_;
  mutable std::vector<ChoiceExample> examples_;
  mutable std::vector<Completion> completions_;
};

}  // namespace

std::unique_ptr<Evaluation> make_multiple_choice(const Section& section, ChoiceFile file) {
  return std::make_unique<MultipleChoice>(section, std::move(file));
}

}  // namespace exprun
