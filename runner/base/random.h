// Counter-based randomness: a value is a pure function of its key, so nothing has to be saved for
// an exact resume. SplitMix64's finaliser (Steele, Lea, Flood 2014) mixes the words of the key.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace exprun {

// 64 well-mixed bits of the words, in order.
uint64_t random_bits(std::initializer_list<uint64_t> key);

// A stable word of a name, to be used as a part of a key.
uint64_t random_word(std::string_view name);

// Uniform in [0, bound), without bias visible at any bound below 2^48.
uint64_t random_below(uint64_t bound, std::initializer_list<uint64_t> key);

}  // namespace exprun
