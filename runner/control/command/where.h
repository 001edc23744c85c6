// --where of the commands that list runs: only those of which every condition holds.
#pragma once

#include "control/command/arguments.h"
#include "control/command/stored_runs.h"

namespace exprun {

struct Where {
  std::vector<std::string> conditions;

  void declare(Arguments& arguments);
  // Reads the parameters and series that are asked about. Throws Error that names the condition and
  // what is wrong with it.
  void keep_matching(const Store& store, std::vector<ReportedRun>& runs) const;
};

}  // namespace exprun
