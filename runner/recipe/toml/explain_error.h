// Makes good diagnostics of toml++'s syntax errors.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/diagnostic.h"

namespace exprun {

// `description` is toml++'s text, (line, column) the place where its parser stopped.
Diagnostic explain_toml_error(const std::shared_ptr<const SourceFile>& file, uint32_t line,
                              uint32_t column, std::string_view description);

}  // namespace exprun
