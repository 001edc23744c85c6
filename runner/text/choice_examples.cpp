#include "text/choice_examples.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"

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

ChoiceExample hellaswag(const json& record) {
  ChoiceExample example{record.at("ctx"), {}, index_of(record.at("label"))};
  for (const json& ending : record.at("endings"))
    example.endings.push_back(" " + ending.get<std::string>());
  return example;
}

class Records {
 public:
  explicit Records(std::filesystem::path file) : file_(std::move(file)) {}

  ChoiceExample parse(const json& record, int64_t number) {
    if (record.contains("question")) return arc(record);
    if (record.contains("goal"))
      return {
          as_question(record.at("goal")),
          {" " + record.at("sol1").get<std::string>(), " " + record.at("sol2").get<std::string>()},
          record.contains("label") ? index_of(record["label"]) : label_beside(number)};
    if (record.contains("ctx")) return hellaswag(record);
    if (record.contains("context"))
      return {record.at("context"), record.at("endings"), index_of(record.at("label"))};
    return lambada(record);
  }

 private:
  // PIQA has the labels of valid.jsonl in valid-labels.lst, a line each.
  size_t label_beside(int64_t number) {
    const auto beside = file_.parent_path() / (file_.stem().string() + "-labels.lst");
    if (labels_.empty()) {
      std::ifstream lines(beside);
      for (std::string line; std::getline(lines, line);) labels_.push_back(line);
    }
    if (static_cast<size_t>(number) > labels_.size())
      throw Error("has no label, and there is none in '" + beside.string() + "'");
    return index_of(labels_[static_cast<size_t>(number) - 1]);
  }

  std::filesystem::path file_;
  std::vector<std::string> labels_;
};

ChoiceExample parsed(const ChoiceFile& kind, const std::string& text, int64_t line,
                     const std::string& shown) {
  const auto unreadable = [&](const std::string& what) {
    return ChoiceFileError("line " + std::to_string(line) + " of '" + shown + "' " + what,
                           kind.form);
  };
  try {
    ChoiceExample example = kind.parse(parse_json<json>(text), line);
    if (example.label >= example.endings.size())
      throw Error("has a label that refers to none of its endings");
    return example;
  } catch (const json::exception&) {
    throw unreadable("is not a " + kind.title + " example");
  } catch (const Error& error) {
    throw unreadable(error.what());
  }
}

}  // namespace

ChoiceFile hellaswag_file() {
  return {"HellaSwag", "HellaSwag has one JSON object per line, with ctx, endings and label",
          "run `exprun data fetch hellaswag` to download it",
          [](const json& record, int64_t) { return hellaswag(record); }};
}

ChoiceFile completion_file(std::filesystem::path file) {
  const auto records = std::make_shared<Records>(std::move(file));
  return {"completion",
          "a file has one JSON object per line: of ARC, PIQA, LAMBADA or HellaSwag, or with "
          "context, endings and label",
          "",
          [records](const json& record, int64_t number) { return records->parse(record, number); }};
}

std::vector<ChoiceExample> read_choice_examples(const ChoiceFile& kind,
                                                const std::filesystem::path& file,
                                                const std::string& shown,
                                                std::optional<int64_t> limit) {
  std::ifstream lines;
  if (file_exists(file)) lines.open(file);
  if (!lines.is_open())
    throw ChoiceFileError("there is no file '" + file.string() + "'", kind.remedy);
  std::vector<ChoiceExample> examples;
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    if (limit && static_cast<int64_t>(examples.size()) == *limit) break;
    if (line.find_first_not_of(" \t\r") != line.npos)
      examples.push_back(parsed(kind, line, number, shown));
  }
  if (examples.empty()) throw ChoiceFileError("'" + shown + "' has no examples", "");
  return examples;
}

}  // namespace exprun
