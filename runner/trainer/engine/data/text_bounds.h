// Where the texts of a dataset begin and end. Prompts and generated texts are to look like them.
#pragma once

#include "recipe/section.h"
#include "text/tokenizer.h"

namespace exprun {

// Of instruction data as their template says, of others as `tokenizer`, that of the data, does. A
// text ends also where a folder of HuggingFace's says so in which the vocabulary lies, as long as
// it has that vocabulary; files there that are damaged are a warning.
TextBounds text_bounds(const Tokenizer& tokenizer, const Section& dataset);

}  // namespace exprun
