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
  int local_rank = 0;  // among the ranks of this machine
  int local_world_size = 1;

  // The rendezvous store. Rank 0 serves it, at a socket that is open already if there is one,
  // unless an agent (torchrun) does.
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  std::optional<int> listening_fd;
  bool served_by_agent = false;
  std::string prefix = "exprun";  // of all keys: another one for every attempt

  std::chrono::milliseconds timeout{std::chrono::minutes(10)};  // of a collective, and of meeting
};

}  // namespace exprun
