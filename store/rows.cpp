#include "store/rows.h"

#include <array>
#include <stdexcept>

namespace exprun {
namespace {

// In the order of RunState.
constexpr std::array<const char*, 9> kStateNames = {"running", "finished",    "diverged",
                                                    "failed",  "interrupted", "preempted",
                                                    "killed",  "crashed",     "pruned"};

}  // namespace

const char* to_string(RunState state) {
  return kStateNames.at(static_cast<size_t>(state));
}

RunState run_state(const std::string& name) {
  for (size_t i = 0; i < kStateNames.size(); ++i) {
    if (name == kStateNames[i]) return static_cast<RunState>(i);
  }
  throw std::logic_error("store: no run state is called '" + name + "'");
}

}  // namespace exprun
