// A prepared set in lines for people.
#pragma once

#include <string>

#include "text/prepared_data.h"

namespace exprun {

// "  train       1,000 tokens in 2 shards", and validation.
std::string split_lines(const PreparedData& data);

// Tokenizer, splits, and what it was made from, also as earlier versions wrote that down. Throws
// Error where the description says it in no known way.
std::string set_lines(const PreparedData& data);

}  // namespace exprun
