// What is known of a run, for people.
#pragma once

#include <string>

#include "control/report/run_details.h"

namespace exprun {

// Lines of "# ...", so that they may stand above the resolved recipe.
std::string details_as_comments(const RunDetails& details);

}  // namespace exprun
