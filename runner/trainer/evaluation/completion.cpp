// How often a model completes a text as it should: files of ARC, PIQA, LAMBADA and HellaSwag, told
// apart by the names in their records, and of one's own. The contexts are those of EleutherAI's
// lm-evaluation-harness.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "engine/inference/multiple_choice.h"
#include "recipe/paths.h"

namespace exprun {
namespace {

using nlohmann::json;

std::string as_question(const std::string& text) {
  return "Question: " + text + "\nAnswer:";
}

// A number, or its digits.
size_t index_of(const json& label) {
  if (!label.is_string()) return label.get<size_t>();
  const auto number = parse_number<size_t>(label.get<std::string>());
  if (!number) throw Error("has a label that is not a number");
  return *number;
}

// As published, {"question": {"stem", "choices": [{"text", "label"}]}, "answerKey"}, or as
// HuggingFace has it, {"question", "choices": {"text": [], "label": []}, "answerKey"}.
ChoiceExample arc(const json& record) {
  const json& question = record.at("question");
  ChoiceExample example;
  std::vector<std::string> labels;
  if (question.is_object()) {
    example.context = as_question(question.at("stem"));
    for (const json& choice : question.at("choices")) {
      example.endings.push_back(" " + choice.at("text").get<std::string>());
      labels.push_back(choice.at("label"));
    }
  } else {
    example.context = as_question(question);
    for (const json& text : record.at("choices").at("text"))
      example.endings.push_back(" " + text.get<std::string>());
    labels = record.at("choices").at("label").get<std::vector<std::string>>();
  }
  const auto answer = std::find(labels.begin(), labels.end(), record.at("answerKey"));
  example.label = static_cast<size_t>(answer - labels.begin());
  return example;
}

// The last word of a text.
ChoiceExample lambada(const json& record) {
  const auto text = record.at("text").get<std::string>();
  const size_t space = text.rfind(' ');
  if (space == std::string::npos || space == 0) throw Error("has a text of one word");
  return {text.substr(0, space), {text.substr(space)}, 0};
}

class Records {
 public:
  explicit Records(std::string path) : path_(std::move(path)) {}

  ChoiceExample parse(const json& record, int64_t number) {
    if (record.contains("question")) return arc(record);
    if (record.contains("goal"))
      return {
          as_question(record.at("goal")),
          {" " + record.at("sol1").get<std::string>(), " " + record.at("sol2").get<std::string>()},
          record.contains("label") ? index_of(record["label"]) : label_beside(number)};
    if (record.contains("ctx")) {
      ChoiceExample example{record.at("ctx"), {}, index_of(record.at("label"))};
      for (const json& ending : record.at("endings"))
        example.endings.push_back(" " + ending.get<std::string>());
      return example;
    }
    if (record.contains("context"))
      return {record.at("context"), record.at("endings"), index_of(record.at("label"))};
    return lambada(record);
  }

 private:
  // PIQA has the labels of valid.jsonl in valid-labels.lst, a line each.
  size_t label_beside(int64_t number) {
    const std::filesystem::path file = expand_path(path_, libtorch_folder());
    const auto beside = file.parent_path() / (file.stem().string() + "-labels.lst");
    if (labels_.empty()) {
      std::ifstream lines(beside);
      for (std::string line; std::getline(lines, line);) labels_.push_back(line);
    }
    if (static_cast<size_t>(number) > labels_.size())
      throw Error("has no label, and there is none in '" + beside.string() + "'");
    return index_of(labels_[static_cast<size_t>(number) - 1]);
  }

  std::string path_;
  std::vector<std::string> labels_;
};

std::unique_ptr<Evaluation> build(const Section& section) {
  const auto records = std::make_shared<Records>(section.get<std::string>("path"));
  return make_multiple_choice(
      section,
      {"completion",
       "a file has one JSON object per line: of ARC, PIQA, LAMBADA or HellaSwag, or with context, "
       "endings and label",
       "",
       [records](const json& record, int64_t number) { return records->parse(record, number); }});
}

const Register<Evaluation> registration{"completion", build};

}  // namespace
}  // namespace exprun
