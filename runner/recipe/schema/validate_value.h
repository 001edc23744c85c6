// One value against a schema, as JSON Schema draft-07 says for the keywords of our subset
// (schemas/README.md). One exception: a float is never an integer.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

// `key` is the name that messages show.
void validate_value(const std::string& key, const Schema& schema, const Value& value,
                    Diagnostics& diagnostics);

// Whether "auto" stands for a value that is found later.
bool may_be_auto(const Schema& schema);

// Whether the schema's `type` names one, in its list or alone.
bool allows_type(const Schema& schema, std::string_view type);

// The key of an entry by the `propertyNames` of its table.
void validate_name(const Schema& names, const Entry& entry, Diagnostics& diagnostics);

}  // namespace exprun
