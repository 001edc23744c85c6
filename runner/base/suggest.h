// "did you mean": the candidate nearest to a misspelt name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// The candidate with the smallest edit distance (insertion, deletion, substitution and swap of
// neighbours count one; capitals nothing), if it is at most 3 and less than half of the longer
// name; the first wins. Else the only one with the same first letter and number: "fp16" for
// "float16".
std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

}  // namespace exprun
