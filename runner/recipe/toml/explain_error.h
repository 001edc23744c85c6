// Makes good diagnostics of toml++'s syntax errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/diagnostic.h"

namespace exprun {

// What somebody who knows the keys has to say of a value that is no TOML, by its place in the text.
using ValueJudge = std::function<std::optional<Diagnostic>(size_t begin, size_t size)>;

// `description` is toml++'s text, (line, column) the place where its parser stopped.
Diagnostic explain_toml_error(const std::shared_ptr<const SourceFile>& file, uint32_t line,
                              uint32_t column, std::string_view description,
                              const ValueJudge& value_judge);

}  // namespace exprun
