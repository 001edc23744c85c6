// The plan of a run as `check` shows it: what exprun-trainer --describe says, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace exprun {

std::string plan_text(const nlohmann::ordered_json& plan);

}  // namespace exprun
