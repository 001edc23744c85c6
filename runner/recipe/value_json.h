// Values as JSON, and JSON (of a schema: defaults, examples) as values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recipe/value.h"

namespace exprun {

nlohmann::ordered_json to_json(const Value& value);
nlohmann::ordered_json to_json(const Table& table);

// Without a place. JSON's null, which TOML has not, is an empty array.
Value value_of_json(const nlohmann::ordered_json& json, Origin origin);

}  // namespace exprun
