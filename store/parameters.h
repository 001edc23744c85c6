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

std::map<int64_t, std::string> read_parameter(Connection& connection, const std::string& path);
std::vector<std::string> read_parameter_paths(Connection& connection);

}  // namespace exprun
