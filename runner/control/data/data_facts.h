// What the rules over tables (recipe/facts.h) need to know of data.
#pragma once

#include "recipe/facts.h"
#include "text/prepared_data.h"
#include "text/tokenizer.h"

namespace exprun {

Facts facts_of(const PreparedData& data);

// Before any text became tokens.
Facts facts_of(const Tokenizer& tokenizer);

}  // namespace exprun
