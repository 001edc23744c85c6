// What must be known of raw sources before any of their text becomes tokens.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/data/read/document_chunks.h"
#include "control/data/text_options.h"
#include "recipe/section.h"
#include "text/tokenizer.h"

namespace exprun {

// The tokenizer that the options name; a char tokenizer is made from the whole text. Throws
// RecipeError at the key that is wrong.
std::unique_ptr<Tokenizer> make_tokenizer(const Section& dataset, const TextOptions& options,
                                          const std::vector<RawSource>& sources);

// Whether some hold text and others JSON records.
bool are_mixed(const std::vector<RawSource>& sources, const std::string& format);

}  // namespace exprun
