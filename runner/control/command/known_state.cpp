#include "control/command/known_state.h"

#include <stdexcept>

#include "base/diagnostic.h"
#include "store/rows.h"

namespace exprun {

void require_state(const std::string& who, const std::string& name) {
  try {
    run_state(name);
  } catch (const std::logic_error&) {
    throw Error(who + ": there is no state '" + name +
                    "' (running, finished, diverged, failed, interrupted, preempted, killed, "
                    "crashed, pruned)",
                ExitCode::bad_recipe);
  }
}

}  // namespace exprun
