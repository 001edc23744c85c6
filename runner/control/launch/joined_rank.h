// A rank that another launcher has started: torchrun, srun and mpirun say so in the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace exprun {

struct JoinedRank {
  int rank = 0, world_size = 1;

  // Where the ranks meet. Rank 0 serves it, unless the launcher does.
  std::string address;
  uint16_t port = 0;
  bool store_is_served = false;

  int restarts = 0;  // of all ranks, so far
};

using Variables = std::function<const char*(const char*)>;

// Nothing where no launcher is, or one with a single rank. Throws Error when a variable is missing
// or makes no sense.
std::optional<JoinedRank> joined_rank(const Variables& variables);

}  // namespace exprun
