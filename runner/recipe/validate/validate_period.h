// Periods and bounds of numbers against the schema of their key.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/diagnostic.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

// A string with a number and one of the schema's units; bounds hold for its count.
void validate_period(const std::string& key, const Schema& schema, const Value& value,
                     Diagnostics& diagnostics);

// "> 0" when minimum, exclusiveMinimum, maximum or exclusiveMaximum does not hold; else empty.
std::string broken_bound(const Schema& schema, double number);

}  // namespace exprun
