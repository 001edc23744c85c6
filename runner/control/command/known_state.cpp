#include "control/command/known_state.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "store/rows.h"

namespace exprun {

std::vector<std::string> state_names() {
  std::vector<std::string> names;
  for (int state = 0; state <= static_cast<int>(RunState::pruned); ++state)
    names.emplace_back(to_string(static_cast<RunState>(state)));
  return names;
}

void require_state(const std::string& who, const std::string& name) {
  const std::vector<std::string> names = state_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  throw Error(who + ": there is no state '" + name + "' (" + list + ")", ExitCode::bad_recipe);
}

}  // namespace exprun
