// All of a run of the other store but its values. Both are on one connection: `main` is this store,
// `other` the attached one.
#pragma once

#include <optional>

#include "store/connection.h"

namespace exprun {

// In one transaction, onto the run that is here already, if there is one. Returns its id here.
int64_t copy_run(Connection& connection, int64_t theirs, std::optional<int64_t> ours);

}  // namespace exprun
