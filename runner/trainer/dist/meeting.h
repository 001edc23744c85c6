// The ranks of a run, met: one process alone, or Gloo between several.
#pragma once

#include <memory>
#include <optional>

#include "dist/process_group.h"
#include "dist/rendezvous.h"

namespace exprun {

struct Meeting {
  // Throws Error when the others do not come.
  explicit Meeting(const RankPlace& place);

  std::optional<Rendezvous> rendezvous;  // none for one process
  std::shared_ptr<ProcessGroup> group;
};

}  // namespace exprun
