// HellaSwag (Zellers et al. 2019): which of four endings does the model expect?
#include <nlohmann/json.hpp>

#include "engine/inference/multiple_choice.h"

namespace exprun {
namespace {

ChoiceExample parse(const nlohmann::json& record, int64_t) {
  ChoiceExample example{record.at("ctx"), {}, record.at("label")};
  for (const auto& ending : record.at("endings"))
    example.endings.push_back(" " + ending.get<std::string>());
  return example;
}

std::unique_ptr<Evaluation> build(const Section& section) {
  return make_multiple_choice(
      section, {"HellaSwag", "HellaSwag has one JSON object per line, with ctx, endings and label",
                "run `exprun data fetch hellaswag` to download it", parse});
}

const Register<Evaluation> registration{"hellaswag", build};

}  // namespace
}  // namespace exprun
