// A prepared set in lines for people.
#pragma once

#include <filesystem>
#include <string>

#include "text/prepared_data.h"

namespace exprun {

// "  train       1,000 tokens in 2 shards", and validation.
std::string split_lines(const PreparedData& data);

// Tokenizer, splits, and what it was made from, also as earlier versions wrote that down. Throws
// Error that names the description where that says it in no known way.
std::string set_lines(const PreparedData& data, const std::filesystem::path& description);

}  // namespace exprun
