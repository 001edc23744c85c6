// A stored run's recipe asks for the ranks of all machines that trained it last.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace exprun {

// For a command that uses it again where nobody has started other ranks. Throws Error that says
// what to do, unless `overrides` say how many ranks this machine is to make.
void require_ranks_for_one_machine(const Store& store, const RunRow& run,
                                   const std::string& command,
                                   const std::vector<std::string>& overrides);

}  // namespace exprun
