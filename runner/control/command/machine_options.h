// The options of a command that is given on several machines at once, to train together.
#pragma once

#include <optional>
#include <string>

#include "control/command/arguments.h"
#include "control/command/command.h"
#include "control/launch/ranks/joined_rank.h"

namespace exprun {

class MachineOptions {
 public:
  void add_to(Arguments& arguments);

  // The ranks of this machine; where no option is given, those that another launcher has started.
  // More ranks on one machine only are a change of the recipe. Throws Error (wrong usage).
  std::optional<JoinedRank> joined(Words& overrides) const;

 private:
  std::optional<int64_t> nnodes_, nproc_per_node_, node_rank_;
  std::string rdzv_endpoint_;
};

}  // namespace exprun
