// What this machine calls itself.
#pragma once

#include <string>

namespace exprun {

std::string host_name();

}  // namespace exprun
