// What prepared data, or a tokenizer alone, tell the rules of recipes.
#pragma once

#include "base/facts.h"
#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {

Facts facts_of(const PreparedData& data);

// Before any text became tokens.
Facts facts_of(const Tokenizer& tokenizer);

}  // namespace exprun
