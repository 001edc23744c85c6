// generation_config.json of an exported model: how transformers generates text with it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "recipe/resolved.h"
#include "text/tokenizer.h"

namespace exprun {

// Responses end where they do in examples of the template `form`. `warnings`: of an end for which
// the vocabulary has no token.
void add_ends_of_responses(nlohmann::ordered_json& generation, const Tokenizer& tokenizer,
                           const std::string& form, std::vector<std::string>& warnings);

// Tokens are chosen as [evaluation.sample] does, if that differs from its defaults.
void add_sampling(nlohmann::ordered_json& generation, const ResolvedRecipe& recipe);

}  // namespace exprun
