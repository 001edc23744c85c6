// One value against the schema of its key.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/diagnostic.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

// `key` is the name that messages show. Type, enum, const, bounds, pattern, items, period.
void validate_value(const std::string& key, const Schema& schema, const Value& value,
                    Diagnostics& diagnostics);

// Whether "auto" stands for a value that is found later.
bool may_be_auto(const Schema& schema);
bool is_auto(const Value& value);

// Whether the schema's `type` names one, in its list or alone.
bool allows_type(const Schema& schema, std::string_view type);

}  // namespace exprun
