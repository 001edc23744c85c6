// A learning-rate schedule as text: the rates of every group at some updates, and a plot.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace exprun {

// `schedule` as exprun-trainer --describe gives it (engine/describe.h).
std::string schedule_text(const nlohmann::ordered_json& schedule);

}  // namespace exprun
