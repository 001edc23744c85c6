// Numbers that would fit, for help texts.
#pragma once

#include <cstdint>
#include <string>

namespace exprun {

// The divisors of `whole` on both sides of `wanted`: "4 or 8 would".
std::string near_divisors(int64_t whole, int64_t wanted);

// The multiples of `unit` on both sides of `wanted`, none below the unit itself: "1024 or 2048
// would".
std::string near_multiples(int64_t unit, int64_t wanted);

}  // namespace exprun
