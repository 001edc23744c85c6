// An evaluation that asks a model which of some endings follows a text: what HellaSwag, ARC, PIQA
// and LAMBADA have in common. Scored as llm.c scores HellaSwag, by the ending's tokens after the
// context's: NAME/acc takes the smallest sum of their losses, NAME/acc_norm the smallest mean. An
// example with one ending is right if its tokens are those that the model finds most likely.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/evaluation.h"
#include "recipe/section.h"

namespace exprun {

struct ChoiceExample {
  std::string context;
  std::vector<std::string> endings;  // with the space before them, if there is one
  size_t label = 0;                  // which is right
};

// A kind of file: JSON Lines with an example each.
struct ChoiceFile {
  std::string title;   // "HellaSwag"
  std::string form;    // "HellaSwag has one JSON object per line, with ctx, endings and label"
  std::string remedy;  // how to get one: "run `exprun data fetch hellaswag` to download it"
  // Throws Error ("has no label") or an exception of nlohmann-json for a record that is no example.
  // `number`: of the line, from 1.
  std::function<ChoiceExample(const nlohmann::json& record, int64_t number)> parse;
};

// By the keys `path` and `examples` of the section, whose table has the name of its series.
std::unique_ptr<Evaluation> make_multiple_choice(const Section& section, ChoiceFile file);

}  // namespace exprun
