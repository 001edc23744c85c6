// What was typed for `exprun sample`, and what is wrong with it, told at the places of what was
// typed.
#pragma once

#include <string>
#include <vector>

#include "base/dataset_info.h"
#include "base/diagnostic.h"
#include "control/command/command.h"
#include "control/command/sample_prompts.h"
#include "recipe/recipe_text.h"

namespace exprun {

// The settings of `exprun sample`: changes of [evaluation.sample], whose keys stand alone.
inline constexpr const char* kSampleTable = "evaluation.sample";

inline const std::string kSamplePrefix = std::string(kSampleTable) + '.';

inline const std::string kAsPrompt = kSamplePrefix + "prompt=";

inline const std::string kSystem = kSamplePrefix + "system";

// The last overrides of a text as changes of the table, and the prompts of options, the first of
// which is an override that nobody typed.
struct TypedSample {
  Words settings;
  std::vector<GivenPrompt> prompts;
  PromptForm form;  // of the prompts
};

// Throws RecipeError for prompts that no tokenizer takes.
void refuse_unusable_prompts(const TypedSample& typed);

// Throws RecipeError for all that is wrong with `text`, and for prompts with characters that the
// tokenizer does not know.
void refuse_mistakes(const RecipeText& text, const DatasetInfo& facts, const TypedSample& typed);

}  // namespace exprun
