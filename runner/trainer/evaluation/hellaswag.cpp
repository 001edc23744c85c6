// HellaSwag (Zellers et al. 2019): which of four endings does the model expect? Scored as llm.c
// does, by the ending's tokens behind the context's: acc takes the smallest sum of their losses,
// acc_norm the smallest mean.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "engine/completion_loss.h"
#include "engine/evaluation.h"
#include "recipe/paths.h"

namespace exprun {
namespace {

using nlohmann::json;

struct Example {
  std::string context;
  std::vector<std::string> endings;
  size_t label = 0;
};

Completion completion_of(const Tokenizer& tokenizer, const Example& example, size_t ending) {
  const auto context = tokenizer.encode(example.context);
  const auto tokens = tokenizer.encode(" " + example.endings[ending]);
  Completion completion{{context.begin(), context.end()}, static_cast<int64_t>(tokens.size())};
  completion.tokens.insert(completion.tokens.end(), tokens.begin(), tokens.end());
  return completion;
}

size_t smallest(const double* scores, size_t count) {
  return static_cast<size_t>(std::min_element(scores, scores + count) - scores);
}

class HellaSwag : public Evaluation {
 public:
  HellaSwag(Section section, std::string path, std::optional<int64_t> examples)
      : section_(std::move(section)), path_(std::move(path)), limit_(examples) {}

  void check(const Dataset&, const Tokenizer* tokenizer) const override {
    if (!tokenizer)
      throw section_.error("path", "HellaSwag needs a tokenizer, but this dataset has none",
                           "remove this evaluation");
    try {
      completions(*tokenizer);
    } catch (const Error& error) {
      throw section_.error("path", error.what());
    }
  }

  std::vector<std::string> metrics() const override {
    return {"hellaswag/acc", "hellaswag/acc_norm"};
  }

  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    const auto& all = completions(*context.tokenizer);
    const auto losses =
        completion_losses(context.model, all, context.micro_batch, [&](size_t done) {
          context.report({static_cast<int64_t>(done), static_cast<int64_t>(all.size()), "endings"});
          return done > 0 && context.stop_requested();
        });
    if (!losses) return std::nullopt;
    std::vector<double> means;
    for (size_t i = 0; i < all.size(); ++i)
      means.push_back((*losses)[i] /
                      static_cast<double>(counted_tokens(all[i], context.model.context_length())));
    return EvaluationResult{
        {{"hellaswag/acc", accuracy(*losses)}, {"hellaswag/acc_norm", accuracy(means)}}, ""};
  }

 private:
  double accuracy(const std::vector<double>& scores) const {
    size_t right = 0, first = 0;
    for (const Example& example : examples_) {
      right += smallest(scores.data() + first, example.endings.size()) == example.label;
      first += example.endings.size();
    }
    return static_cast<double>(right) / static_cast<double>(examples_.size());
  }

  RecipeError unreadable(int64_t line, const std::string& what) const {
    return section_.error("path", "line " + std::to_string(line) + " of '" + path_ + "' " + what,
                          "HellaSwag has one JSON object per line, with ctx, endings and label");
  }

  Example parse(const std::string& text, int64_t line) const {
    try {
      const json parsed = parse_json<json>(text);
      Example example{parsed.at("ctx"), parsed.at("endings"), parsed.at("label")};
      if (example.label >= example.endings.size())
        throw unreadable(line, "has a label that is not one of its endings");
      return example;
    } catch (const json::exception&) {
      throw unreadable(line, "is not an example of HellaSwag");
    }
  }

  void read() const {
    const std::string name = expand_path(path_, libtorch_folder());
    std::ifstream file;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(name, ignored)) file.open(name);
    if (!file.is_open())
      throw section_.error("path", "there is no file '" + name + "'",
                           "run `exprun data fetch hellaswag` to download it");
    std::string line;
    for (int64_t number = 1; std::getline(file, line); ++number) {
      if (limit_ && static_cast<int64_t>(examples_.size()) == *limit_) break;
      if (!line.empty()) examples_.push_back(parse(line, number));
    }
    if (examples_.empty()) throw section_.error("path", "'" + path_ + "' has no examples");
  }

  // Read and encoded once.
  const std::vector<Completion>& completions(const Tokenizer& tokenizer) const {
    if (!completions_.empty()) return completions_;
    read();
    for (const Example& example : examples_)
      for (size_t ending = 0; ending < example.endings.size(); ++ending)
        completions_.push_back(completion_of(tokenizer, example, ending));
    return completions_;
  }

  Section section_;
  std::string path_;
  std::optional<int64_t> limit_;
  mutable std::vector<Example> examples_;
  mutable std::vector<Completion> completions_;
};

std::unique_ptr<Evaluation> build(const Section& section) {
  return std::make_unique<HellaSwag>(section, section.get<std::string>("path"),
                                     section.find<int64_t>("examples"));
}

const Register<Evaluation> registration{"hellaswag", build};

}  // namespace
}  // namespace exprun
