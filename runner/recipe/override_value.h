// What stands after the '=' of an override.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

// The value of an override: TOML, or the bare text where the key takes text. The text of `file`
// from the byte `begin` on; nothing, and the reason in `diagnostics`, if it cannot be read.
// `schema` is that of the key.
std::optional<Value> read_override_value(const std::shared_ptr<const SourceFile>& file,
                                         size_t begin, const Schema& schema,
                                         Diagnostics& diagnostics);

// How an override writes what was given as the value of an option: "3" as it is for an integer, as
// "\"3 epochs\"" for a period in the unit (by default the schema's first one), "a" as "[\"a\"]" for
// a list. Nothing if no way of writing it is valid.
std::optional<std::string> override_value_meant(const Schema& schema, const std::string& text,
                                                std::string unit);

}  // namespace exprun
