// Texts that weights write after prompts, handed on while they are written: `exprun sample`.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/inference/loaded_model.h"

namespace exprun {

struct Answering {
  bool is_interactive = false;  // a person types prompts: an interrupt ends the texts of one
  bool shows_progress = false;  // on standard error, for nobody sees the texts being written
};

// The settings are those of the recipe's [evaluation.sample], `samples` texts a prompt. Prompts are
// asked for until there are no more; `say` gets {"text": PIECE} and, where a text ends,
// {"end": "tokens" | "stop_text" | "end_of_text" | "interrupted"}, or {"problem": why there is no
// text, or no more of it}; {"answered": true} before the first prompt and after the texts of each.
// The n-th text of a prompt is the same whatever else was asked. Throws Error where a stop was
// requested, but for an interrupt where a person types.
void answer_prompts(const LoadedModel& loaded, const Answering& answering,
                    const std::function<std::optional<std::string>()>& next_prompt,
                    const std::function<void(const nlohmann::json&)>& say);

}  // namespace exprun
