// TOML text as a tree of values in file order, each with its place. With explain_error.cpp the only
// user of toml++.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/diagnostic.h"
#include "recipe/toml/explain_error.h"
#include "recipe/value.h"

namespace exprun {

// The whole file; nothing, and the reason in `diagnostics`, if it is no TOML: `value_judge` is
// asked first where that is a value.
std::optional<Table> parse_toml(const std::shared_ptr<const SourceFile>& file, Origin origin,
                                Diagnostics& diagnostics, const ValueJudge& value_judge = {});

// One value: `size` bytes of the text of `file` from the byte `begin` on. Places count from the
// text's start. Nothing, and the reason in `diagnostics`, if it is no value, or one and more.
std::optional<Value> parse_toml_value(const std::shared_ptr<const SourceFile>& file, size_t begin,
                                      size_t size, Origin origin, Diagnostics& diagnostics);

}  // namespace exprun
