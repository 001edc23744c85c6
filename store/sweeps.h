// The trial's side of a run, inside a write transaction of another file.
#pragma once

#include <cstdint>

#include "store/database/connection.h"

namespace exprun {

// A trial that has a run has begun: what kept it from that before is over.
void set_trial_run(Connection& connection, int64_t sweep, int64_t trial, int64_t run);

}  // namespace exprun
