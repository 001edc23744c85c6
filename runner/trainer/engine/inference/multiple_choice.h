// An evaluation that asks a model which of some endings follows a text: what HellaSwag, ARC, PIQA
// and LAMBADA have in common. Scored as llm.c scores HellaSwag, by the ending's tokens after the
// context's: NAME/acc takes the smallest sum of their losses, NAME/acc_norm the smallest mean. An
// example with one ending is right if its tokens are those that the model finds most likely.
#pragma once

#include <memory>

#include "engine/evaluation.h"
#include "recipe/section.h"
#include "text/choice_examples.h"

namespace exprun {

// By the keys `path` and `examples` of the section, whose table has the name of its series.
std::unique_ptr<Evaluation> make_multiple_choice(const Section& section, ChoiceFile kind);

}  // namespace exprun
