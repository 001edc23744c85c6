// The resolved recipe of a run as rows: dotted path, TOML text, and its value for SQL.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/rows.h"

namespace exprun {

void insert_parameters(Connection& connection, int64_t run,
                       const std::vector<ParameterRow>& parameters);
std::map<int64_t, std::vector<ParameterRow>> read_parameters(Connection& connection,
                                                             const std::vector<int64_t>& runs);

}  // namespace exprun
