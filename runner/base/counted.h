// A count with its noun.
#pragma once

#include <cstdint>
#include <string>

namespace exprun {

// "one core", "1,200 cores"; the plural of `thing` has an 's'.
std::string counted(int64_t count, const char* thing);

}  // namespace exprun
