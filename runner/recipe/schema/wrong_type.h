// What to say about a value of the wrong type, and how to put it right.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

// An integer may stand for a float, never the other way round.
bool has_right_type(const Schema& schema, const Value& value);

// "'eps' must be a float, got a string" and "remove the quotes".
Diagnostic wrong_type(const std::string& key, const Schema& schema, const Value& value);

// The text that a pattern stands for which takes no other: "auto" of "^auto$".
std::optional<std::string> only_text(const Schema& schema);

// "steps, epochs or tokens": the units that a period of the key may have.
std::string unit_list(const Schema& schema);

// Of "10%" and 0.1, after the units.
inline constexpr const char* kNoFraction = "; a fraction of the run is not accepted";

// "1 step", "2 steps": a period of the key's first unit.
std::string period_text(const std::string& number, const Schema& schema);

}  // namespace exprun
