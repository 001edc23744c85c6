// The value of an override: TOML, or the bare text where the key takes text.
#pragma once

#include <optional>

#include "base/diagnostic.h"
#include "recipe/schema.h"
#include "recipe/value.h"

namespace exprun {

// The text of `file` from the byte `begin` on; nothing, and the reason in `diagnostics`, if it
// cannot be read. What is only refused has a value too. `schema` is that of the key.
std::optional<Value> read_override_value(const std::shared_ptr<const SourceFile>& file,
                                         size_t begin, const Schema& schema,
                                         Diagnostics& diagnostics);

}  // namespace exprun
