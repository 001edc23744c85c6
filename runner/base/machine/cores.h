// The cores that a process may compute on.
#pragma once

#include <limits>
#include <set>
#include <string>

namespace exprun {

// Hyper-threads of one core are one name.
struct Cores {
  std::string host;
  std::set<std::string> names;
  int limit = std::numeric_limits<int>::max();  // of the control group: so many at a time

  int count() const;  // at least 1
};

// Of this process, as its affinity says: a launcher may have given each rank its own.
Cores own_cores();

}  // namespace exprun
