// All that is known of a run, for scripts.
#pragma once

#include <nlohmann/json.hpp>

#include "control/report/run_details.h"

namespace exprun {

nlohmann::ordered_json details_as_json(const RunDetails& details);

}  // namespace exprun
