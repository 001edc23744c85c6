// Numbers as text: the shortest form that reads back to the same value.
#pragma once

#include <cstdint>
#include <string>

namespace exprun {

std::string shortest(double value);         // 3e-4 -> "0.0003", inf -> "inf", nan -> "nan"
std::string with_thousands(int64_t value);  // 1234567 -> "1,234,567"

}  // namespace exprun
