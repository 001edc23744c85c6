// How deep keys are, asked before TOML is parsed: parsers and trees recurse.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace exprun {

// A recipe's keys have at most five.
inline constexpr size_t kMostKeyParts = 32;

// Tables and arrays within each other; also toml++'s limit for values.
inline constexpr size_t kDeepestValue = 256;

// Where a key or a header of more than kMostKeyParts parts begins; nothing if none does.
std::optional<size_t> find_long_key(std::string_view text);

}  // namespace exprun
