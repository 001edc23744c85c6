// Whether the values of a store are what its series say.
#pragma once

#include <string>

#include "store/connection.h"

namespace exprun {

// "ok", or what is wrong, with the first run that it is wrong of, and what mends it. Reads every
// key of the values once, as PRAGMA integrity_check does, which does not look at any of this.
std::string value_health(Connection& connection);

}  // namespace exprun
