// What rank 0 lets a machine without it do when its ranks have ended: one of them writes it down
// when it hears from rank 0, and the launcher that has started them reads it.
#pragma once

#include <optional>

#include "base/unique_fd.h"

namespace exprun {

struct Restarts {
  int so_far = 0, most = 0;  // of all ranks, as rank 0 counts them
};

class AllowedRestarts {
 public:
  AllowedRestarts();  // throws Error

  int fd() const { return file_.get(); }  // for the ranks

  // Nothing if they have heard nothing, or are dismissed.
  std::optional<Restarts> heard() const;

  void forget();  // before another life

 private:
  UniqueFd file_;  // in memory
};

}  // namespace exprun
