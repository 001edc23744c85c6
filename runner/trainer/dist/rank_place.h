// Where a process stands among the ranks of its run, and where they meet.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace exprun {

struct RankPlace {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among those of its host
  int ranks_here = 1;  // from the first of this launcher's on

  // The rendezvous store. Rank 0 serves it, at a socket that is open already if there is one, or
  // another launcher does.
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  std::optional<int> listening_fd;
  bool store_is_served = false;
  int restarts = 0;  // of all ranks, so far

  // Whether another launcher has started all ranks, and what it calls their job if it says so.
  bool joined = false;
  std::string job = {};

  // Where a rank above 0 says how often rank 0 lets all ranks be restarted (joined_launch.cpp).
  std::optional<int> restarts_fd;

  // How long rank 0 waits for others who do not come, and they for a rank 0 where nobody listens.
  std::chrono::milliseconds handshake_timeout{std::chrono::minutes(10)};
};

}  // namespace exprun
