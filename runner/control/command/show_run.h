// exprun show RUN: what is known of a run that is in the store.
#pragma once

#include <string>

#include "control/command/command.h"

namespace exprun {

struct ShowRunOptions {
  bool json = false;      // everything, for a script
  bool attempts = false;  // its lives instead
  bool diff = false;      // what its code differed in from its commit, instead
};

// Prints the run. Throws Error, also when no run is called so.
void show_run(const std::string& reference, const ShowRunOptions& options, const Globals& globals);

}  // namespace exprun
