// Diagnostics for scripts and editors, and from one program of ours to the other.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/diagnostic.h"

namespace exprun {

// An array of {severity, message, help, where: {file, line, column, length}, also: [where...]}; a
// place that is none is null.
nlohmann::ordered_json to_json(const Diagnostics& diagnostics);

// Back from that form. Places in one of `files`, by name, can be shown with their line.
Diagnostics diagnostics_from_json(const nlohmann::ordered_json& json,
                                  const std::vector<std::shared_ptr<const SourceFile>>& files);

}  // namespace exprun
