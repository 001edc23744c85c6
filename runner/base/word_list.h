// Words in a row, as a sentence has them.
#pragma once

#include <string>
#include <vector>

namespace exprun {

// "a, b or c"
std::string alternatives(const std::vector<std::string>& words);

// "a, b and c"
std::string listed(const std::vector<std::string>& words);

}  // namespace exprun
