// The plan of a run as `check` shows it: what exprun-trainer --describe says, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/report/plot/terminal_plot.h"

namespace exprun {

// In lines of at most `width` columns, where their words allow it (0: of any width).
std::string plan_text(const nlohmann::ordered_json& plan, size_t width);

// A further line of it.
std::string plan_line(const std::string& name, const std::string& text, size_t width);

// A learning-rate schedule as text: the rates of every group at some updates, and a plot.

// `schedule` as exprun-trainer --describe gives it (engine/describe.h).
std::string schedule_text(const nlohmann::ordered_json& schedule, const TerminalPlotOptions& size);

// The same for a script, with updates counted from 1 as there:
// {"type", "steps", "peaks": {"default": 1e-3}, "factors": [{"update": 1, "factor": 0.1}]}.
nlohmann::ordered_json schedule_json(const nlohmann::ordered_json& schedule);

}  // namespace exprun
