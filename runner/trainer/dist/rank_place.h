// Which rank of its run a process is, and where the rendezvous is.
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
  int ranks_here = 1;  // that this launcher has started

  // The rendezvous store. Rank 0 serves it, at a socket that its launcher has opened if there is
  // one, unless an external launcher serves it.
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  std::optional<int> listening_fd;
  bool store_is_served = false;
  int restarts = 0;  // of all ranks so far

  // Whether an external launcher (torchrun, srun) has started all ranks, and its name for their job
  // if it has one.
  bool external_launcher = false;
  std::string job = {};

  // Where a rank above 0 writes how often all ranks may be restarted (restarts.h).
  std::optional<int> restarts_fd;

  // How long rank 0 waits for ranks that do not join, and they wait where no process listens.
  std::chrono::milliseconds handshake_timeout{std::chrono::minutes(10)};
};

}  // namespace exprun
