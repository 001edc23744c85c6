// Tags, which are words to find a run by, and notes: what people add to a run.
#pragma once

#include <cstdint>
#include <string>

#include "store/database/connection.h"

namespace exprun {

// Without effect when the run has it. Inside a write transaction.
void insert_tag(Connection& connection, int64_t run, const std::string& name);

}  // namespace exprun
