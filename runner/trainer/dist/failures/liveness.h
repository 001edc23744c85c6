// Whether a process listens at an address, though it may not answer yet: asked of the rendezvous
// while ranks wait for rank 0 and when it stays silent, and of the next process in a ring of ranks
// (process_ring.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/files/file.h"

namespace exprun {

class Liveness {
 public:
  Liveness(std::string host, uint16_t port) : host_(std::move(host)), port_(port) {}

  // Holds a connection, which ends with the process that listens, and a minute after its machine.
  // Takes a second at most for each address that the host has, and what resolving its name takes.
  bool is_there();

 private:
  bool holds() const;
  void connect();

  std::string host_;
  uint16_t port_;
  UniqueFd connection_;
};

}  // namespace exprun
