// Names of states, as users write them.
#pragma once

#include <string>
#include <vector>

namespace exprun {

std::vector<std::string> state_names();

// Throws Error that begins with `who` and lists the states when `name` is none of them.
void require_state(const std::string& who, const std::string& name);

}  // namespace exprun
